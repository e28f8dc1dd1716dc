"""Curves of the experiment's arms, mean over seeds, as SVG files that stand alone."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from statistics import fmean
from typing import Any

from healthgym.diagnostics.charts import HEIGHT, WIDTH, Chart, Curve
from healthgym.diagnostics.run import Series

COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#e377c2", "#17becf")
QUANTITIES = {
    "eval_success": ("Held-out success during the run", True),
    "success": ("Success on train tasks", True),
    "tokens": ("Assistant tokens an episode", False),
    "tool_calls": ("Tool calls an episode", False),
    "turns": ("Turns an episode", False),
    "kl": ("Divergence from the teacher, nats a token", False),
}
"""What is drawn: title, and whether it is a share."""
ROW, COLUMNS = 16, 3


def draw(setting: str, by_arm: Mapping[str, Sequence[Mapping[str, Any]]], folder: Path) -> list[Path]:
    """Write one SVG per quantity that any arm logged.

    Args:
        setting: Name of the setting, part of the file names.
        by_arm: Results of each arm, a seed each.
        folder: Where the files go.
    """
    files = []
    for quantity, (title, is_share) in QUANTITIES.items():
        curves = []
        for place, (arm, results) in enumerate(by_arm.items()):
            series = mean_series([result["curve"] for result in results], quantity)
            if series is not None:
                curves.append(Curve(arm, series, f"k{place}"))
        if curves:
            file = folder / f"{setting}_{quantity}.svg"
            file.write_text(stand_alone(Chart(title, "", tuple(curves), is_share=is_share)), encoding="utf-8")
            files.append(file)
    return files


def mean_series(curves: Sequence[Sequence[Mapping[str, float]]], quantity: str) -> Series | None:
    """Return the mean over seeds at every step that all of them logged; None when there is none."""
    by_seed = [{int(row["step"]): row[quantity] for row in curve if quantity in row} for curve in curves]
    steps = sorted(set.intersection(*(set(one) for one in by_seed))) if by_seed else []
    if not steps:
        return None
    return Series(tuple(steps), tuple(fmean(one[step] for one in by_seed) for step in steps))


def stand_alone(chart: Chart) -> str:
    """Return a chart as a whole SVG file with title, colours and legend of its own."""
    rows = -(-len(chart.curves) // COLUMNS)
    height = HEIGHT + 24 + rows * ROW + 6
    colours = "".join(
        f".{curve.colour}{{stroke:{COLOURS[int(curve.colour[1:]) % len(COLOURS)]};"
        f"stroke-dasharray:{'5 3' if int(curve.colour[1:]) >= len(COLOURS) else 'none'}}}"
        for curve in chart.curves
    )
    style = (
        "svg{background:#fff;font-family:sans-serif}.grid{stroke:#ddd}.tick{font-size:10px;fill:#555}"
        ".line{fill:none;stroke-width:1.6}.raw{fill:none;opacity:.25}.hover{fill:transparent}.title{font-size:12px}"
        + colours
    )
    legend = []
    for place, curve in enumerate(chart.curves):
        x = 12 + (place % COLUMNS) * (WIDTH - 12) / COLUMNS
        y = HEIGHT + 24 + (place // COLUMNS) * ROW + 8
        legend.append(f'<line class="line {curve.colour}" x1="{x:.0f}" x2="{x + 16:.0f}" y1="{y - 3}" y2="{y - 3}"/>')
        legend.append(f'<text class="tick" x="{x + 20:.0f}" y="{y}">{escape(curve.label)}</text>')
    inner = chart.svg().replace("<svg ", f'<svg y="20" width="{WIDTH}" height="{HEIGHT}" ', 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH * 2}">'
        f'<style>{style}</style><rect width="100%" height="100%" fill="#fff"/>'
        f'<text class="title" x="12" y="15">{escape(chart.title)}</text>{inner}{"".join(legend)}</svg>\n'
    )
