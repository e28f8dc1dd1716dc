"""One run folder, one run at a time: a lock that dies with the process that holds it."""

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError

LOCK = "run.lock"


@contextmanager
def run_lock(run_dir: Path, processes: Any = None) -> Iterator[None]:
    """Hold a run's folder; the kernel lets go of it however this process ends.

    Of a run on several processes the main one holds the lock, and all of them refuse together when it is taken.

    Args:
        run_dir: The folder; made when it does not exist.
        processes: Accelerate's PartialState; None for a run of one process.

    Raises:
        ConfigError: Another process holds the folder, or it cannot be made; names holder and remedy.
    """
    held, refusal = -1, None
    if processes is None or processes.is_main_process:
        held, refusal = _take(run_dir)
    refusal = _told_to_all(refusal, processes)
    if refusal is not None:
        raise ConfigError(refusal)
    try:
        yield
    finally:
        if held >= 0:
            os.ftruncate(held, 0)
            os.close(held)  # and the lock with it


def _take(run_dir: Path) -> tuple[int, str | None]:
    """Return the locked file, or why it could not be locked."""
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        file = os.open(run_dir / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        return -1, f"The run folder {run_dir} cannot be used: {error.strerror}. Give another one with --run-dir."
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(file, 4096, 0).decode("utf-8", "replace")
        os.close(file)
        return -1, (
            f"{run_dir} is in use by another run ({_named(holder)}). Wait for it or stop it, or give another folder "
            "with --run-dir."
        )
    started = datetime.now(UTC).isoformat(timespec="seconds")
    note = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": started})
    os.ftruncate(file, 0)
    os.pwrite(file, note.encode(), 0)
    return file, None


def _named(holder: str) -> str:
    try:
        found = json.loads(holder)
        return f"process {found['pid']} on {found['host']} since {found['since']}"
    except (json.JSONDecodeError, KeyError, TypeError):
        return "its process did not say which it is"


def _told_to_all(refusal: str | None, processes: Any) -> str | None:
    if processes is None or processes.num_processes == 1:
        return refusal
    from accelerate.utils import broadcast_object_list

    told: list[str | None] = broadcast_object_list([refusal])
    return told[0]
