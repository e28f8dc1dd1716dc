"""Lines that tell how far a build or an audit of passages is."""

import time
from types import TracebackType

from rich.console import Console

EVERY_SECONDS = 10.0


class StageLines:
    """Prints a line when a stage begins, at most one every ten seconds while it runs, and one when it ends."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._stage: str | None = None
        self._started = self._told = 0.0
        self._first = self._done = 0
        self._total: int | None = None

    def __enter__(self) -> "StageLines":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._close()

    def tell(self, stage: str, done: int, total: int | None) -> None:
        """Take note of progress, as retrieval reports it."""
        now = time.monotonic()
        if stage != self._stage:
            self._close()
            self._stage, self._started, self._told, self._first = stage, now, now, done
        self._done, self._total = done, total
        if now - self._told >= EVERY_SECONDS:
            self._told = now
            self._line(now, "")

    def note(self, text: str) -> None:
        """Print something the user should know."""
        self._console.print(f"Note: {text}", markup=False, soft_wrap=True)

    def _close(self) -> None:
        if self._stage is not None:
            self._line(time.monotonic(), " done")

    def _line(self, now: float, end: str) -> None:
        of = f" of {self._total:,}" if self._total is not None else ""
        seconds = now - self._started
        rate = (
            f", {(self._done - self._first) / seconds:,.0f} a second"
            if seconds >= 1 and self._done > self._first
            else ""
        )
        self._console.print(f"{self._stage}: {self._done:,}{of}{rate}{end}", markup=False, soft_wrap=True)
