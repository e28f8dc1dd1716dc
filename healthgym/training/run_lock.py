"""One run folder, one run at a time: a lock that dies with the process that holds it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError
from healthgym.locks import Held, release_lock, take_lock

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
            release_lock(held)


def _take(run_dir: Path) -> tuple[int, str | None]:
    """Return the locked file, or why it could not be locked."""
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        return take_lock(run_dir / LOCK), None
    except OSError as error:
        return -1, f"The run folder {run_dir} cannot be used: {error.strerror}. Give another one with --run-dir."
    except Held as holder:
        return -1, (
            f"{run_dir} is in use by another run ({holder}). Wait for it or stop it, or give another folder "
            "with --run-dir."
        )


def _told_to_all(refusal: str | None, processes: Any) -> str | None:
    if processes is None or processes.num_processes == 1:
        return refusal
    from accelerate.utils import broadcast_object_list

    told: list[str | None] = broadcast_object_list([refusal])
    return told[0]
