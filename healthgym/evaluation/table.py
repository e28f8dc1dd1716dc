"""Tables for the terminal, 80 columns wide: a result with its floors and strata, and a comparison."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from healthgym.evaluation.comparison import Comparison
from healthgym.evaluation.paired import Paired

WIDTH = 80
BAR = 24
MAX_VALUES = 12
"""Values of a stratum that are shown, those with most rows."""


def result_table(result: Mapping[str, Any], *, width: int = WIDTH) -> Group:
    """Return a result as `Summary.to_dict` gives it: score, interval and floors on one axis, counts, strata, cautions."""
    made = Table(width=width, header_style="bold", pad_edge=False, box=None)
    for name, justify in (("", "left"), ("n", "right"), ("score", "right"), ("95 %", "left"), ("0%", "left")):
        made.add_column(name, justify=justify, no_wrap=True, overflow="ellipsis")  # type: ignore[arg-type]
    made.columns[-1].header = Text("0%" + " " * (BAR - 6) + "100%")
    made.columns[0].ratio = 1
    for cells in _result_rows(result):
        made.add_row(*cells)
    title = " ".join(part for part in (result.get("suite"), result.get("mode")) if part)
    lines: list[RenderableType] = [
        Text(f"{title}: {result.get('candidate', '')}", style="bold"),
        made,
        Text(_counts(result)),
    ]
    lines += [Text(line) for line in (_means(result), _required(result)) if line]
    lines += [Text(f"! {warning}", style="yellow") for warning in result.get("warnings", ())]
    return Group(*lines)


def _result_rows(result: Mapping[str, Any]) -> Iterator[list[Text]]:
    yield _cells("answered rows", result["n"], result["score"], result["ci"], bold=True)
    yield _cells("all rows", result["n_all"], result["score_all"], result["ci_all"])
    for floor in result.get("floors", ()):
        if floor["score"] is not None:
            yield _cells(f"  floor: {floor['name'].replace('_', ' ')}", None, floor["score"], None)
    shares = _shares(result)
    if shares:
        yield [Text("further scores", style="italic"), *[Text()] * 4]
    for name, found in shares.items():
        yield _cells(f"  {name.replace('_', ' ')}", found["n"], found["value"], found["ci"])
    for what in ("pass_at_k", "pass_hat_k"):
        for k, found in result.get(what, {}).items():
            if k != "1":
                yield _cells(
                    what.replace("_at_", "@").replace("_hat_", "^").replace("k", k),
                    found["n"],
                    found["value"],
                    found["ci"],
                )
    for name, values in result.get("strata", {}).items():
        if len(values) < 2:
            continue
        yield [Text(name, style="italic"), *[Text()] * 4]
        largest = sorted(values.items(), key=lambda pair: -pair[1]["n"])[:MAX_VALUES]
        for value, found in sorted(largest):
            yield _cells(f"  {value}", found["n"], found["score"], found["ci"])
        if len(values) > MAX_VALUES:
            yield [Text(f"  and {len(values) - MAX_VALUES} more"), *[Text()] * 4]


def _shares(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the further scores whose intervals lie between 0 and 1, which the axis can show."""
    scores: Mapping[str, Any] = result.get("scores", {})
    return {
        name: found
        for name, found in scores.items()
        if all(0.0 <= bound <= 1.0 for bound in (found["value"], *(found["ci"] or ())))
    }


def _cells(label: str, n: int | None, value: float | None, ci: Any, *, bold: bool = False) -> list[Text]:
    style = "bold" if bold else ""
    return [
        Text(label, style=style),
        Text("" if n is None else f"{n:,}"),
        Text("-" if value is None else f"{value:.1%}", style=style),
        Text("" if ci is None else f"{ci[0]:.1%} to {ci[1]:.1%}"),
        _bar(value, ci),
    ]


def _bar(value: float | None, ci: Any) -> Text:
    """Return an interval as a line of characters from 0 to 1, its mean as a dot."""
    cells = ["·"] * BAR
    if ci is not None:
        for place in range(_place(ci[0]), _place(ci[1]) + 1):
            cells[place] = "─"
    if value is not None:
        cells[_place(value)] = "●" if ci is not None else "│"
    return Text("".join(cells), style="" if ci is not None else "dim")


def _place(share: float) -> int:
    return min(BAR - 1, max(0, int(share * BAR)))


def _counts(result: Mapping[str, Any]) -> str:
    others = [f"{count:,} {name}" for name, count in result["counts"].items() if count and name != "answered"]
    return f"not answered: {', '.join(others)}" if others else "every row was answered"


def _means(result: Mapping[str, Any]) -> str:
    """Return counts a row, and scores that are no shares, with their intervals, in a line."""
    shares = _shares(result)
    means = [(name.replace("_", " "), found, "{:.1f}") for name, found in result.get("means", {}).items()]
    scores = [
        (name.replace("_", " "), found, "{:.3f}")
        for name, found in result.get("scores", {}).items()
        if name not in shares
    ]
    told = [
        f"{name} {form.format(found['value'])}"
        + (f" ({form.format(found['ci'][0])} to {form.format(found['ci'][1])})" if found["ci"] else "")
        for name, found, form in (*scores, *means)
    ]
    return f"means: {', '.join(told)}" if told else ""


def _required(result: Mapping[str, Any]) -> str:
    needed = result.get("required_n")
    if not needed:
        return ""
    points = f"{needed['difference'] * 100:g} points"
    floor = f"; {needed['above_floor']:,} to tell this score from the highest floor" if needed["above_floor"] else ""
    effect = needed.get("design_effect", 1.0)
    shared = f" ({effect:.1f} times as many as if no rows shared a cluster)" if effect >= 1.05 else ""
    return (
        f"rows needed{shared}: {needed['width']:,} for an interval of {points} either side; {needed['two_runs']:,} in each of two "
        f"runs to show {points} between them, fewer on the same rows{floor}"
    )


def comparison_table(one: Comparison, *, width: int = WIDTH) -> Table:
    """Return a comparison: differences with interval, rows changed each way, adjusted p-values and effect sizes."""
    made = Table(
        title=f"{one.suite}: {one.second} less {one.first}", title_justify="left", width=width, box=None, pad_edge=False,
        header_style="bold",
    )  # fmt: skip
    made.add_column("", ratio=1, no_wrap=True, overflow="ellipsis")
    for name in ("n", "first", "second", "difference, points", "better/worse", "p"):
        made.add_column(name, justify="right", no_wrap=True)
    if one.both is not None:
        made.add_row(*_paired_cells("both answered", one.both))
    made.add_row(*_paired_cells("all rows", one.everything))
    if one.answering.gained or one.answering.lost:
        made.add_row(*_paired_cells("any answer", one.answering))
    for name, paired in one.scores.items():
        made.add_row(*_paired_cells(f"  {name}", paired))
    for name, values in one.strata.items():
        made.add_row(Text(name, style="italic"))
        for value, paired in values.items():
            made.add_row(*_paired_cells(f"  {value}", paired))
    headline = one.both or one.everything
    effect = "" if headline.effect is None else f" {headline.effect_name} {headline.effect:+.2f}."
    made.caption = (
        f"{verdict(headline, one.second)}{effect} p adjusted by Holm within each kind of line ({headline.test})."
    )
    made.caption_justify = "left"
    return made


def _paired_cells(label: str, paired: Paired) -> list[Text]:
    one, way, size = ("{:.1%}", "{:+.1f}", 100) if paired.is_share else ("{:.4g}", "{:+.4g}", 1)
    ci = "" if paired.interval is None else f" ({' to '.join(way.format(end * size) for end in paired.interval)})"
    p = paired.p_value if paired.p_adjusted is None else paired.p_adjusted
    return [
        Text(label), Text(f"{paired.n:,}"), Text(one.format(paired.first)), Text(one.format(paired.second)),
        Text(f"{way.format(paired.difference * size)}{ci}"), Text(f"{paired.gained}/{paired.lost}"),
        Text("<.001" if p < 0.001 else f"{p:.3f}".lstrip("0")),
    ]  # fmt: skip


def verdict(paired: Paired, second: str) -> str:
    """Return what a comparison with the run `second` says, in a sentence."""
    p = paired.p_value if paired.p_adjusted is None else paired.p_adjusted
    points = f"{abs(paired.difference) * 100:.1f} points"
    if p < 0.05:
        little = f", and the difference is within {paired.margin * 100:g}" if paired.alike else ""
        return f"{second} is {'better' if paired.difference > 0 else 'worse'} by {points}{little}."
    if paired.alike:
        return f"Alike within {paired.margin * 100:g} points."
    if paired.required_n is None:
        return f"No difference was seen, and {paired.margin * 100:g} points are not ruled out."
    return f"Undecided: a difference of {points} would take about {paired.required_n:,} rows to show."
