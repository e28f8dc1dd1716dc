"""SIGTERM as an interruption: schedulers end a command with it, and whatever Ctrl-C leaves whole it then leaves whole too."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from weakref import ref


class Terminated(KeyboardInterrupt):
    """SIGTERM was received. What handles Ctrl-C handles it in the same way, and tells them apart by `exit_code`."""


def exit_code(stop: KeyboardInterrupt) -> int:
    """Return what a process ends with that was stopped so: 128 and the signal's number."""
    return 128 + (signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT)


@contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """Raise `Terminated` in the main thread at SIGTERM.

    While it is on its way further signals are passed over: what is being put in order then is not disturbed. Where it was lost,
    as in a `__del__` or a bare except, the next signal raises it again.

    Where something within turns that into an exit of its own, as typer does, it is raised again. Whoever has set a handler of
    their own within keeps it. Outside the main thread nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[ref[Terminated]] = []

    def terminate(number: int, frame: FrameType | None) -> None:
        if heard and heard[-1]() is not None:
            return
        stop = Terminated()
        heard.append(ref(stop))
        try:
            raise stop
        finally:
            del stop  # the traceback holds this frame: it would hold itself

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except SystemExit:
        if heard:
            raise Terminated from None
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
