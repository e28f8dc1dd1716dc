"""What a person sees of an evaluation: a bar while it runs, a table at its end, the list of benchmarks."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from healthgym.cli.output import console, table
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
    """Print a table of results, one line each, and their cautions."""
    table(
        "Evaluation",
        ("suite", "mode", "candidate", "n", "score", "95 % interval", "of all", "not answered", "floors"),
        [_line(record) for record in records],
    )
    for record in records:
        for warning in record.get("warnings", ()):
            console.print(f"{record['suite']}: {warning}", markup=False, soft_wrap=True)


def _line(record: Mapping[str, Any]) -> list[Any]:
    others = {name: count for name, count in record["counts"].items() if count and name != "answered"}
    floors = [f"{floor['name']} {floor['score']:.3f}" for floor in record["floors"] if floor["score"] is not None]
    return [
        record["suite"],
        record["mode"],
        record["candidate"],
        record["n"],
        shown(record["score"]),
        interval(record["ci"]),
        f"{shown(record['score_all'])} of {record['n_all']}",
        ", ".join(f"{count} {name}" for name, count in others.items()) or "none",
        ", ".join(floors),
    ]


def shown(value: float | None) -> str:
    """Return a number with three places, or a dash."""
    return "-" if value is None else f"{value:.3f}"


def interval(bounds: Sequence[float | None] | None) -> str:
    """Return an interval in words, or a dash."""
    if bounds is None or None in bounds:
        return "-"
    return f"{bounds[0]:.3f} to {bounds[1]:.3f}"


def list_benchmarks() -> list[dict[str, Any]]:
    """Return every benchmark with its modes, and what is missing where its data is not there."""
    from healthgym.evaluation.benchmark import Source
    from healthgym.evaluation.benchmarks import benchmarks

    found = []
    for name, make in benchmarks().items():
        try:
            made = make(Source())
            entry = {"name": name, "title": made.title, "modes": list(made.modes), "data": "there"}
        except (ConfigError, ImportError) as error:
            title = getattr(make, "title", "")
            entry = {"name": name, "title": title, "modes": [], "data": str(error)}
        found.append(entry)
    return found
