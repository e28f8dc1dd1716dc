"""What a person sees of an evaluation: a bar while it runs, a table at its end, the list of benchmarks."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from healthgym.cli.output import console

EVERY_SECONDS = 30.0
"""Plain lines come no more often than this; the last always does."""

GROUPS = (
    "Gym", "Multiple choice", "Records", "Images", "Long answers", "Safety", "Others",
)  # fmt: skip
"""Headings of the list in their order."""

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
            console.print(f"Page: {record['folder']}/report.html", markup=False, soft_wrap=True)


def shown(value: float | None) -> str:
    """Return a number with three places, or a dash."""
    return "-" if value is None else f"{value:.3f}"


def list_benchmarks(names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return what there is to say of benchmarks, all or some by name, without their data.

    Raises:
        NotRegistered: There is none of a name; names the nearest.
    """
    from healthgym.evaluation.about import About
    from healthgym.evaluation.benchmarks import about, benchmarks

    found = []
    for name in names or benchmarks():
        told = about(name) or About(title="", group="Others", modes=(), data="--data", get="It says nothing.", page="")
        found.append({"name": name, **told.to_dict()})
    return found


def show_list(found: Sequence[Mapping[str, Any]]) -> None:
    """Print the benchmarks by group, 80 columns wide."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, header_style="bold", width=80)
    for column in ("suite", "modes", "data", "asks"):
        made.add_column(column, no_wrap=column != "asks")
    for group in sorted({one["group"] for one in found}, key=lambda group: GROUPS.index(group)):
        made.add_row(Text(group, style="italic"))
        for one in found:
            if one["group"] == group:
                made.add_row(f"  {one['name']}", ", ".join(one["modes"]), one["data"], one["title"])
    console.print(made)
    console.print(
        "\nincluded: comes with healthgym. hub: loaded from the hub unless --data is given.\n--data: a file or folder that "
        "you get. The first mode is the default.\nHow to get the data, splits and options: healthgym eval --list --suite NAME",
        markup=False, soft_wrap=True,
    )  # fmt: skip


def show_benchmark(one: Mapping[str, Any]) -> None:
    """Print everything the list knows of one benchmark."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, show_header=False, width=80)
    made.add_column(no_wrap=True, style="bold")
    made.add_column(ratio=1)
    made.add_row(one["name"], Text(one["title"]))
    made.add_row(
        "--mode", f"{' or '.join(one['modes'])}{'; the first is the default' if len(one['modes']) > 1 else ''}"
    )
    made.add_row("--data", Text(one["get"]))
    made.add_row(
        "--split", f"{', '.join(one['splits'])}; the first is the default" if one["splits"] else "none to choose from"
    )
    for place, (name, meaning) in enumerate(one["options"].items()):
        made.add_row("--set" if place == 0 else "", Text(f"{name}: {meaning}"))
    made.add_row("see", one["page"])
    console.print(made)
