"""The comparison's page: differences on one axis, tests and effect sizes, and the rows that changed with both outputs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from healthgym.evaluation.axis import Mark, axis
from healthgym.evaluation.comparison import Comparison, Key
from healthgym.evaluation.paired import Paired
from healthgym.evaluation.report import page_style, page_template
from healthgym.evaluation.report_rows import outcome_of
from healthgym.evaluation.stored import Stored, read_items
from healthgym.evaluation.table import verdict
from healthgym.files import write_whole

MAX_CHANGED = 60
"""Changed rows shown each way; healthgym compare --json lists them all."""
MAX_TEXT = 1500


def write_comparison(made: Sequence[Comparison], runs: Sequence[Sequence[Stored]], out: str | Path) -> Path:
    """Write the page of some comparisons and return its path.

    Args:
        made: The comparisons, each with the first run.
        runs: The evaluations that were compared, by run.
        out: The file to write.
    """
    stored = {(one.suite, one.name): one for run in runs for one in run}
    page = page_template("comparison.html.j2").render(
        style=page_style(),
        comparisons=[_shown(one, stored[one.suite, one.first], stored[one.suite, one.second]) for one in made],
    )
    target = Path(out)
    target.parent.mkdir(parents=True, exist_ok=True)
    return write_whole(target, page.encode("utf-8", "replace").decode("utf-8"))


def _shown(one: Comparison, first: Stored, second: Stored) -> dict[str, Any]:
    lines = list(_lines(one))
    drawn = [(place, label, paired) for place, (label, paired) in enumerate(lines) if paired.is_share]
    ends = [end for *_, paired in drawn for end in paired.interval or (paired.difference,)]
    reach = min(1.0, max(0.05, *(abs(end) for end in ends)))
    reach = next(step for step in (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0) if reach <= step)
    marks = [Mark(label, paired.difference, paired.interval, is_main=not place) for place, label, paired in drawn]
    rows = [{row.key: row for row in each.rows} for each in (first, second)]
    items = {**read_items(second.path), **read_items(first.path)}
    return {
        "one": one,
        "verdict": verdict(one.both or one.everything, one.second),
        "chart": Markup(axis(marks, (), low=-reach, high=reach)),
        "lines": [(label, _cells(paired)) for label, paired in lines],
        "changed": [
            (title, len(keys), [_changed(key, rows[0], rows[1], items) for key in keys[:MAX_CHANGED]])
            for title, keys in ((f"Better in {one.second}", one.gained), (f"Worse in {one.second}", one.lost))
        ],
    }


def _lines(one: Comparison) -> Iterator[tuple[str, Paired]]:
    if one.both is not None:
        yield "answered by both", one.both
    yield "all rows", one.everything
    yield "answered at all", one.answering
    for name, paired in one.scores.items():
        yield name.replace("_", " "), paired
    for name, values in one.strata.items():
        for value, paired in values.items():
            yield f"{name.replace('_', ' ')}: {value.replace('_', ' ')}", paired


def _cells(paired: Paired) -> list[str]:
    one, way, size = ("{:.1%}", "{:+.1f}", 100) if paired.is_share else ("{:.4g}", "{:+.4g}", 1)
    ci = "–" if paired.interval is None else " to ".join(way.format(end * size) for end in paired.interval)
    alike = "–" if not paired.is_share else "yes" if paired.alike else "no"
    effect = "–" if paired.effect is None else f"{paired.effect_name.split()[-1]} {paired.effect:+.2f}"
    return [
        f"{paired.n:,}", one.format(paired.first), one.format(paired.second), way.format(paired.difference * size), ci,
        f"{paired.gained:,} / {paired.lost:,}", _p(paired.p_value), _p(paired.p_adjusted), effect,
        "–" if paired.required_n is None else f"{paired.required_n:,}", alike,
    ]  # fmt: skip


def _p(value: float | None) -> str:
    return "–" if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def _changed(key: Key, first: Any, second: Any, items: dict[str, Any]) -> dict[str, Any]:
    """Return one row before and after, each text cut to a length that many of them bear."""
    content = items.get(key[0])
    asked = content.get("question") or content.get("prompt") if isinstance(content, dict) else None
    return {
        "id": key[0] if key[1] == 0 else f"{key[0]} · attempt {key[1]}",
        "gold": first[key].gold,
        "question": _cut(str(asked)) if asked else "",
        "sides": [
            {"outcome": outcome_of(row), "status": row.status, "prediction": row.prediction, "output": _cut(row.output)}
            for row in (first[key], second[key])
        ],
    }


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} [... {len(text) - MAX_TEXT:,} more characters]"
