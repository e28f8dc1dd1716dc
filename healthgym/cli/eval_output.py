"""What a person sees of an evaluation: a bar while it runs, a table at its end, the list of benchmarks."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from healthgym.cli.output import console
from healthgym.errors import ConfigError

EVERY_SECONDS = 30.0
"""Plain lines come no more often than this; the last always does."""

OnRow = Callable[[int, int, Any], None]


@contextmanager
def evaluation_progress(shown: Console, name: str, *, quiet: bool = False) -> Iterator[OnRow | None]:
    """Give what takes (rows done, rows asked for, row) and shows them: a bar in a terminal, lines elsewhere.

    Args:
        shown: Where.
        name: What is being evaluated.
        quiet: Show nothing.
    """
    if quiet:
        yield None
    elif shown.is_terminal:
        with Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[said]}"),
            TimeElapsedColumn(), TimeRemainingColumn(), console=shown,
        ) as bars:  # fmt: skip
            task = bars.add_task(name, total=None, said="")
            tally = Tally()
            yield lambda done, total, row: bars.update(task, completed=done, total=total, said=tally.add(row))
    else:
        tally, last = Tally(), [float("-inf")]

        def tell(done: int, total: int, row: Any) -> None:
            said = tally.add(row)
            if time.monotonic() - last[0] >= EVERY_SECONDS or done == total:
                last[0] = time.monotonic()
                shown.print(f"{name}: {done}/{total} rows {said}", markup=False, soft_wrap=True)

        yield tell


class Tally:
    """Keeps the mean of the answered rows made so far, and how many were not answered."""

    def __init__(self) -> None:
        self.answered, self.total, self.others = 0, 0.0, 0

    def add(self, row: Any) -> str:
        """Take a row, or None, and return what there is to say."""
        if row is not None and row.score is not None:
            self.answered, self.total = self.answered + 1, self.total + row.score
        elif row is not None:
            self.others += 1
        said = f"score {self.total / self.answered:.3f}" if self.answered else ""
        return f"{said} ({self.others} unanswered)" if self.others else said


def show_results(records: Sequence[Mapping[str, Any]]) -> None:
    """Print results: score, interval and floors on one axis, counts, strata, cautions, and where they lie."""
    from healthgym.evaluation.table import result_table

    for record in records:
        console.print(result_table(record))
        if "folder" in record:
            console.print(f"in {record['folder']}", markup=False, soft_wrap=True)


def shown(value: float | None) -> str:
    """Return a number with three places, or a dash."""
    return "-" if value is None else f"{value:.3f}"


def list_benchmarks() -> list[dict[str, Any]]:
    """Return every benchmark with its modes, and what is missing where its data is not there."""
    from healthgym.evaluation.benchmark import Source
    from healthgym.evaluation.benchmarks import benchmarks

    found = []
    for name, make in benchmarks().items():
        try:
            made = make(Source())
            entry = {
                "name": name,
                "title": made.title,
                "modes": list(made.modes),
                "data": getattr(made, "data", "there"),
            }
        except (ConfigError, ImportError) as error:
            title = getattr(make, "title", "")
            entry = {"name": name, "title": title, "modes": [], "data": str(error)}
        found.append(entry)
    return found
