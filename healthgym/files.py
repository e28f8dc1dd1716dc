"""Files and folders that are whole or not there: written aside, then renamed."""

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Errors of a write that finds no room: on the disk, in the quota, under the limit of a file's size."""


def write_whole(file: Path, text: str) -> Path:
    """Write a text file in UTF-8 that is never seen half written, and return it; its folder must exist.

    Several processes may write one file at once: the last counts. Half a surrogate pair is written as its escape.
    """
    if not file.name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
    aside = file.with_name(f".{file.name}.{os.getpid()}.writing")
    try:
        aside.write_text(text, encoding="utf-8", errors="backslashreplace")
        return aside.replace(file)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def read_json(text: str | bytes) -> Any:
    """Return what a JSON text says. Raises ValueError for every other text, one nested too deeply included."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def copy_whole(source: Path, target: Path) -> Path:
    """Copy a folder to a name that is never seen half copied, and return it; `target` must not exist, its folder must."""
    aside = _aside(target)
    shutil.rmtree(aside, ignore_errors=True)  # of a copy that was cut short
    shutil.copytree(source, aside)
    return aside.replace(target)


def link_or_copy(source: str, target: str) -> str:
    """Let two names share one file on disk, or copy it where links are not to be had; for `shutil.copytree`."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def _aside(path: Path) -> Path:
    return path.with_name(f".{path.name}.writing")
