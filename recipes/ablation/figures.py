"""Pictures of the experiment as SVG files: held-out success of every arm, and each arm's course seed by seed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "healthgym", "font.size": 8, "axes.spines.top": False}
matplotlib.rcParams |= {"axes.spines.right": False, "font.family": "sans-serif"}

from matplotlib.figure import Figure  # noqa: E402 - after the backend is chosen
from scipy import stats  # noqa: E402

Results = Mapping[str, Mapping[int, Mapping[str, Any]]]
QUANTITIES = {
    "success": "success on the step's train tasks, mean of five steps",
    "tokens": "assistant tokens an episode",
    "tool_calls": "tool calls an episode",
    "turns": "turns an episode",
    "kl": "divergence from the teacher, nats a token",
}
"""What is drawn step by step."""
COLUMNS, SMOOTHED, FEWEST = 5, ("success",), 3
SEED, MEAN, OTHER = "#7fb0d8", "#0b4f8a", "#b9b9b9"


def draw(setting: str, found: Results, reference: str, folder: Path) -> list[Path]:
    """Write one picture of held-out success, and one of each quantity that any arm logged.

    Args:
        setting: Name of the setting, part of the file names.
        found: Results by arm and seed.
        reference: The arm whose mean stands in grey behind every other.
        folder: Where the files go.
    """
    files = [save(held_out(found), folder / f"{setting}_held_out.svg")]
    for quantity, label in QUANTITIES.items():
        curves = {arm: [course(r["curve"], quantity) for r in by_seed.values()] for arm, by_seed in found.items()}
        drawn = {arm: lines for arm, lines in curves.items() if any(lines)}
        if drawn:
            files.append(save(panels(drawn, label, reference), folder / f"{setting}_{quantity}.svg"))
    return files


def held_out(found: Results) -> Figure:
    """Return a picture of success by arm: a dot a seed, and the mean with its 95 % t-interval from three seeds on."""
    record = next(iter(next(iter(found.values())).values()))
    splits = [name for name in ("fresh", "test", "test_ood") if name in record]
    figure = Figure(figsize=(2.7 * len(splits) + 1.2, 0.28 * len(found) + 0.9), layout="constrained")
    for place, axes in enumerate(figure.subplots(1, len(splits), sharey=True, squeeze=False)[0]):
        for row, by_seed in enumerate(found.values()):
            values = [one[splits[place]]["success"] for one in by_seed.values()]
            axes.plot(values, [row] * len(values), "o", color=SEED, markersize=3.5)
            half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values) if len(values) >= FEWEST else 0.0
            axes.errorbar(fmean(values), row, xerr=half, fmt="|", color=MEAN, markersize=9, linewidth=1.2)
        axes.set(title=splits[place], xlabel="held-out success", xlim=(-0.02, 1), yticks=range(len(found)))
        axes.set_yticklabels(list(found))
        axes.grid(axis="x", color="#e6e6e6")
        axes.set_axisbelow(True)
    axes.invert_yaxis()
    return figure


def panels(curves: Mapping[str, Sequence[Mapping[int, float]]], label: str, reference: str) -> Figure:
    """Return a panel for each arm: every seed, their mean, and in grey the mean of the reference arm."""
    rows = -(-len(curves) // COLUMNS)
    figure = Figure(figsize=(1.75 * COLUMNS, 1.35 * rows + 0.5), layout="constrained")
    grid = figure.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False).ravel()
    behind = mean_of(curves[reference]) if reference in curves else {}
    for axes, (arm, lines) in zip(grid, curves.items(), strict=False):
        axes.plot(list(behind), list(behind.values()), color=OTHER, linewidth=2.2)
        for line in lines:
            axes.plot(list(line), list(line.values()), color=SEED, linewidth=0.7)
        mean = mean_of(lines)
        axes.plot(list(mean), list(mean.values()), color=MEAN, linewidth=1.4)
        axes.set_title(arm, fontsize=8)
        axes.grid(color="#eeeeee")
    for axes in grid[len(curves) :]:
        axes.set_visible(False)
    figure.suptitle(f"{label}; grey: mean of {reference}" if behind else label, fontsize=9)
    figure.supxlabel("step", fontsize=8)
    return figure


def course(curve: Sequence[Mapping[str, float]], quantity: str) -> dict[int, float]:
    """Return a quantity by step, as the mean of up to five steps where single steps are too few episodes to read."""
    rows = [(int(row["step"]), row[quantity]) for row in curve if quantity in row]
    width = 5 if quantity in SMOOTHED else 1
    return {step: fmean(value for _, value in rows[max(0, i + 1 - width) : i + 1]) for i, (step, _) in enumerate(rows)}


def mean_of(lines: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Return the mean over seeds at the steps that all of them logged."""
    steps = sorted(set.intersection(*(set(line) for line in lines)))
    return {step: fmean(line[step] for line in lines) for step in steps}


def save(figure: Figure, file: Path) -> Path:
    """Write a picture; the same data give the same bytes."""
    figure.savefig(file, metadata={"Date": None})
    return file
