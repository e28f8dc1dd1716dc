"""A lock on a file that dies with the process that holds it, and says who that is."""

import fcntl
import json
import os
import socket
import time
from datetime import UTC, datetime
from pathlib import Path

GLANCE_SECONDS = 0.1
"""Whoever only looks whether a lock is held has let go of it after this time."""


class Held(Exception):
    """The lock is taken; the message names its holder."""


def take_lock(path: Path) -> int:
    """Return the locked file's descriptor; give it to `release_lock`. The kernel lets go however this process ends.

    Raises:
        Held: Another process holds it, or has just moved it away.
        OSError: The file cannot be made.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    if not (_locked(file) or _locked(file, after=GLANCE_SECONDS)) or not _is_there(file, path):
        holder = os.pread(file, 4096, 0).decode("utf-8", "replace")
        os.close(file)
        raise Held(_named(holder))
    started = datetime.now(UTC).isoformat(timespec="seconds")
    note = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": started})
    os.ftruncate(file, 0)
    os.pwrite(file, note.encode(), 0)
    return file


def release_lock(file: int) -> None:
    """Let go of a lock and forget who held it."""
    os.ftruncate(file, 0)
    os.close(file)  # and the lock with it


def is_held(path: Path) -> bool:
    """Say whether some process holds the lock now."""
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def _is_there(file: int, path: Path) -> bool:
    """Say whether the path still leads to this file: its folder may have been moved away while the lock was waited for."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _locked(file: int, *, after: float = 0.0) -> bool:
    time.sleep(after)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _named(holder: str) -> str:
    try:
        found = json.loads(holder)
        return f"process {found['pid']} on {found['host']} since {found['since']}"
    except (json.JSONDecodeError, KeyError, TypeError):
        return "its process did not say which it is"
