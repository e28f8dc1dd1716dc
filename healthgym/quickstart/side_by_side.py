"""Runs independent pieces of work at once, each in a process of its own, and gathers what they say and return."""

import os
import queue
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from threading import Thread
from typing import Any

from healthgym.errors import HealthgymError

Tell = Callable[[str], None]
WATCH_SECONDS = 0.5


def side_by_side(work: Callable[..., Any], names: Sequence[str], *arguments: Any, tell: Tell) -> dict[str, Any]:
    """Return `work(name, *arguments, tell=...)` by name, all run at once.

    Args:
        work: A module's function; runs in a fresh process.
        names: The pieces of work.
        arguments: Passed on, pickled.
        tell: Told the lines that the pieces tell, as they come.

    Raises:
        HealthgymError: A piece failed or was killed; says which and how. The others are stopped.
    """
    context = get_context("spawn")
    said = context.Queue()
    workers = {
        name: context.Process(target=_run, args=(work, name, arguments, said, os.getpid()), name=name, daemon=True)
        for name in names
    }
    for worker in workers.values():
        worker.start()
    results: dict[str, Any] = {}
    try:
        while len(results) < len(workers):
            try:
                name, kind, value = said.get(timeout=1.0)
            except queue.Empty:
                lost = [name for name, worker in workers.items() if worker.exitcode and name not in results]
                if lost:
                    raise HealthgymError(
                        f"{lost[0]} ended with exit code {workers[lost[0]].exitcode}; the same command goes on from there"
                    ) from None
                continue
            if kind == "line":
                tell(value)
            elif kind == "failed":
                raise HealthgymError(f"{name} failed; the same command goes on from there.\n{value}")
            else:
                results[name] = value
    finally:
        for worker in workers.values():
            if len(results) < len(workers):
                worker.terminate()
            worker.join()
    return {name: results[name] for name in names}


def _run(work: Callable[..., Any], name: str, arguments: Sequence[Any], said: Any, parent: int) -> None:
    Thread(target=_end_with, args=(parent,), daemon=True).start()

    def tell(line: str) -> None:
        said.put((name, "line", line))

    try:
        said.put((name, "done", work(name, *arguments, tell=tell)))
    except Exception:  # handed to whoever started this, who raises
        said.put((name, "failed", traceback.format_exc()))


def _end_with(parent: int) -> None:
    """End this process soon after its parent was killed, so that the same command finds nobody at work in the folders."""
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    os._exit(1)
