"""Files and folders that are whole or not there: written aside, then renamed."""

import os
import shutil
from pathlib import Path


def write_whole(file: Path, text: str) -> Path:
    """Write a text file in UTF-8 that is never seen half written, and return it; its folder must exist."""
    aside = _aside(file)
    aside.write_text(text, encoding="utf-8")
    return aside.replace(file)


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
