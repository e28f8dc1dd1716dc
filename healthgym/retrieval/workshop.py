"""The folder a build works in: one builder at a time, kept for the next try, published by one rename."""

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import TextIO

from healthgym.errors import HealthgymError, PassageIndexError
from healthgym.retrieval.manifest import MANIFEST, Manifest

WORK = ".building-"
DATA = "data"
"""Folder inside the workshop that becomes the data of the index."""

FULL = (errno.ENOSPC, errno.EDQUOT)
LITTLE = 64 * 1024
"""Bytes free at which a disk counts as full."""

Notice = Callable[[str], None]


@contextmanager
def workshop(out: Path, identity: str | None, notice: Notice) -> Iterator[Path]:
    """Yield the folder to build in, locked against other builds.

    Left-overs of builds with another identity are removed. What this build leaves when it is killed, interrupted or out
    of space stays for the next one of the same identity; after an error in a corpus nothing stays.

    Args:
        out: Folder of the index.
        identity: Equal for builds that make the same index; None for one that cannot go on later.
        notice: Told what happens to the left-overs of an earlier build.

    Raises:
        PassageIndexError: `out` holds something else or cannot be written to, another build is at work, or the disk is full.
    """
    _check(out)
    with _locked(out):
        folder = out / f"{WORK}{identity or token_hex(8)}"
        for leftover in sorted(out.glob(f"{WORK}*")):
            if leftover != folder:
                notice(f"an unfinished build with other arguments was cleared away ({leftover.name})")
                shutil.rmtree(leftover)
        (folder / DATA).mkdir(parents=True, exist_ok=True)
        try:
            yield folder
        except BaseException as error:
            expected = isinstance(error, HealthgymError)
            full = not expected and isinstance(error, OSError | RuntimeError) and _is_full(out, error)
            if expected or identity is None:
                shutil.rmtree(folder, ignore_errors=True)
            if full:
                raise _full(out, identity) from error
            if isinstance(error, OSError) and error.errno == errno.EFBIG:
                raise PassageIndexError(
                    f"a file in {out} grew to the largest size allowed. Raise the limit (ulimit -f), or give a folder on "
                    f"another file system to --out. {_kept(out, identity)}"
                ) from error
            raise
        shutil.rmtree(folder, ignore_errors=True)


def _check(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise PassageIndexError(f"{out} is a file; --out needs a folder")
    if out.is_dir() and not (out / MANIFEST).exists():
        ours = (WORK, ".lock", f".{MANIFEST}", f"{DATA}-")
        foreign = sorted(path.name for path in out.iterdir() if not path.name.startswith(ours))
        if foreign:
            raise PassageIndexError(
                f"{out} holds other things ({foreign[0]}) and no index; give a new or empty folder to --out"
            )


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    with _lock_file(out) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise PassageIndexError(
                f"another build is writing to {out}; wait for it, or give another folder to --out"
            ) from error
        yield


def _lock_file(out: Path) -> TextIO:
    """Make the folder where it is missing, and return its lock file, open."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        return (out / ".lock").open("w")
    except OSError as error:
        if error.errno in FULL:
            raise _full(out, None) from error
        raise PassageIndexError(
            f"cannot write to {out} ({error.strerror}); give a folder that can be made and written to"
        ) from error


def _is_full(out: Path, error: Exception) -> bool:
    """Libraries that write files themselves report a full disk without its number: then the space left tells."""
    return getattr(error, "errno", None) in FULL or shutil.disk_usage(out).free < LITTLE


def _full(out: Path, identity: str | None) -> PassageIndexError:
    return PassageIndexError(
        f"the disk of {out} is full. Free space, or give a folder on another disk to --out. {_kept(out, identity)}"
    )


def _kept(out: Path, identity: str | None) -> str:
    if identity is None:
        return "Nothing of it was kept"
    return f"What is done so far stays in {out}/{WORK}*: the same command goes on from there; delete that folder to give up"


def publish(out: Path, folder: Path, manifest: Manifest) -> None:
    """Make a finished build the index: one rename of the manifest, then the old files go. Can be repeated after a kill."""
    data = out / manifest.data
    if not data.exists():
        for path in (folder / DATA).rglob("*"):
            if path.is_file():
                sync(path)
        (folder / DATA).rename(data)
    draft = out / f".{MANIFEST}"
    draft.write_text(manifest.to_json(), encoding="utf-8")
    sync(draft)
    draft.replace(out / MANIFEST)
    for old in out.glob(f"{DATA}-*"):
        if old != data:
            shutil.rmtree(old)


def new_data_name() -> str:
    """Return a name for the data folder of an index that no other has."""
    return f"{DATA}-{token_hex(8)}"


def sync(path: Path) -> None:
    """Wait until a file is on the disk."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
