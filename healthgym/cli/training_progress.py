"""What a person sees while a run trains: bars in a terminal, a line now and then elsewhere, nothing under --json."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from healthgym.cli.progress import Print, progress_line, shown_values, tell_warm_start

EVERY_SECONDS = 30.0
"""Plain lines come no more often than this; the first, the last and evaluated steps always do."""
BARS = ("success", "length", "turns", "kl", "lambda")
"""Quantities beside the bar of steps."""


class TrainingProgress(Protocol):
    """What `run_recipe` and `launch` tell."""

    def on_warm_start(self, step: int, loss: float) -> None: ...
    def on_step(self, step: int, row: Mapping[str, Any]) -> None: ...
    def on_episode(self, done: int, total: int) -> None: ...


@contextmanager
def training_progress(
    console: Console, *, steps: int, warm_start_steps: int, quiet: bool = False
) -> Iterator[TrainingProgress]:
    """Show a run's progress on `console` in the form that suits it.

    Args:
        console: Where; bars need a terminal.
        steps: Optimiser steps of the run.
        warm_start_steps: Supervised steps before them, 0 for none.
        quiet: Show nothing.
    """
    if quiet:
        yield Silent()
    elif console.is_terminal:
        with Bars(console, steps, warm_start_steps) as bars:
            yield bars
    else:
        yield Lines(lambda line: console.print(line, markup=False, soft_wrap=True), steps, warm_start_steps)


class Silent:
    """Shows nothing."""

    def on_warm_start(self, step: int, loss: float) -> None:
        """Take a supervised step."""

    def on_step(self, step: int, row: Mapping[str, Any]) -> None:
        """Take a step."""

    def on_episode(self, done: int, total: int) -> None:
        """Take a finished episode."""


class Lines(Silent):
    """A plain line now and then."""

    def __init__(self, tell: Print, steps: int, warm_start_steps: int) -> None:
        self.tell, self.steps = tell, steps
        self.on_loss = tell_warm_start(warm_start_steps, tell)
        self._last = float("-inf")

    def on_warm_start(self, step: int, loss: float) -> None:
        """Tell the loss at regular steps."""
        self.on_loss(step, loss)

    def on_step(self, step: int, row: Mapping[str, Any]) -> None:
        """Tell a step when the last line is old enough, or the step is the last or was evaluated."""
        now = time.monotonic()
        if now - self._last >= EVERY_SECONDS or step == self.steps or "eval/success" in row:
            self._last = now
            self.tell(progress_line(step, self.steps, row))


class Bars(Silent):
    """Bars of the warm start, the steps, and the episodes of the step at hand."""

    def __init__(self, console: Console, steps: int, warm_start_steps: int) -> None:
        self.progress = Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn(),
            TimeRemainingColumn(), TextColumn("{task.fields[values]}", markup=False), console=console,
        )  # fmt: skip
        hidden: dict[str, Any] = {"start": False, "visible": False, "values": ""}
        self.supervised = self.progress.add_task("warm start", total=warm_start_steps or None, **hidden)
        self.trained = self.progress.add_task("training", total=steps, **hidden)
        self.episodes = self.progress.add_task("  episodes", total=None, **hidden)

    def __enter__(self) -> "Bars":
        self.progress.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self.progress.update(self.episodes, visible=False)
        self.progress.stop()

    def on_warm_start(self, step: int, loss: float) -> None:
        """Move the warm start's bar."""
        self._show(self.supervised, step, f"loss {loss:.3f}")

    def on_step(self, step: int, row: Mapping[str, Any]) -> None:
        """Move the bar of steps and show how the run stands."""
        self._show(self.trained, step, "  ".join(shown_values(row, BARS)))

    def on_episode(self, done: int, total: int) -> None:
        """Move the bar of the step's episodes."""
        if done == 0:
            self.progress.reset(self.episodes, start=True, total=total, visible=True)
            self.progress.start_task(self.trained)
            self.progress.update(self.trained, visible=True)
        self.progress.update(self.episodes, completed=done)

    def _show(self, task: Any, completed: int, values: str) -> None:
        self.progress.start_task(task)
        self.progress.update(task, completed=completed, visible=True, values=values)
