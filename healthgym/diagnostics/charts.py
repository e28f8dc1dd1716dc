"""Line charts as inline SVG: no script, no network, colours from the page's style sheet."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from statistics import fmean

from healthgym.diagnostics.run import Series

WIDTH, HEIGHT = 440, 196
LEFT, RIGHT, TOP, BOTTOM = 40, 10, 10, 24
MAX_HOVER = 100
"""Most places that show values on hover; more would swell the page."""

Scale = Callable[[float], float]
"""Turns a value into a coordinate of the drawing."""


@dataclass(frozen=True)
class Curve:
    """One line: its label, its values and its colour class ("c1" to "c8", "r1" to "r6", "other")."""

    label: str
    series: Series
    colour: str


@dataclass(frozen=True)
class Chart:
    """A titled set of curves over the same steps. `marks` are steps at which a detector saw a change."""

    title: str
    caption: str
    curves: tuple[Curve, ...]
    marks: tuple[int, ...] = ()
    is_share: bool = False

    @property
    def latest(self) -> list[tuple[str, str, str]]:
        """Return (label, colour, last smoothed value) for the legend."""
        return [(c.label, c.colour, self.format(smooth(c.series.values)[-1])) for c in self.curves]

    def format(self, value: float) -> str:
        """Return a value as it is shown in this chart."""
        return f"{value:.0%}" if self.is_share else short(value)

    def svg(self) -> str:
        """Return the chart as an SVG element."""
        low, high = _limits([value for curve in self.curves for value in curve.series.values], self.is_share)
        first = min(curve.series.steps[0] for curve in self.curves)
        last = max(curve.series.steps[-1] for curve in self.curves)

        def x(step: float) -> float:
            return LEFT + (WIDTH - LEFT - RIGHT) * ((step - first) / (last - first) if last > first else 0.5)

        def y(value: float) -> float:
            return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)

        parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self._spoken())}">']
        for tick in ticks(low, high):
            at = f"{y(tick):.1f}"
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>')
            parts.append(
                f'<text class="tick" x="{LEFT - 6}" y="{y(tick) + 3.5:.1f}" text-anchor="end">{self.format(tick)}</text>'
            )
        for step, anchor in _step_labels(first, last):
            parts.append(f'<text class="tick" x="{x(step):.1f}" y="{HEIGHT - 7}" text-anchor="{anchor}">{step}</text>')
        for mark in self.marks:
            parts.append(
                f'<line class="mark" x1="{x(mark):.1f}" x2="{x(mark):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
            )
        for curve in self.curves:
            points = list(zip(curve.series.steps, curve.series.values, strict=True))
            if len(self.curves) == 1 and len(points) > 8:
                parts.append(f'<path class="raw {curve.colour}" d="{_path(points, x, y)}"/>')
            calm = list(zip(curve.series.steps, smooth(curve.series.values), strict=True))
            if len(calm) == 1:
                parts.append(
                    f'<circle class="dot {curve.colour}" cx="{x(calm[0][0]):.1f}" cy="{y(calm[0][1]):.1f}" r="3.5"/>'
                )
            else:
                parts.append(f'<path class="line {curve.colour}" d="{_path(calm, x, y)}"/>')
        parts += self._hover(x)
        return "".join([*parts, "</svg>"])

    def _hover(self, x: Scale) -> list[str]:
        """Return invisible columns whose titles tell the values of a step."""
        by_step: dict[int, list[str]] = {}
        for curve in self.curves:
            for step, value in zip(curve.series.steps, curve.series.values, strict=True):
                by_step.setdefault(step, []).append(f"{curve.label}: {self.format(value)}")
        steps = sorted(by_step)
        steps = steps[:: max(1, math.ceil(len(steps) / MAX_HOVER))]
        width = (WIDTH - LEFT - RIGHT) / max(1, len(steps))
        return [
            f'<rect class="hover" x="{x(step) - width / 2:.1f}" y="{TOP}" width="{width:.1f}" '
            f'height="{HEIGHT - TOP - BOTTOM}"><title>{escape(chr(10).join([f"step {step}", *by_step[step]]))}</title></rect>'
            for step in steps
        ]

    def _spoken(self) -> str:
        ends = ", ".join(
            f"{c.label} from {self.format(c.series.values[0])} to {self.format(c.series.values[-1])}"
            for c in self.curves
        )
        return f"{self.title}: {ends}"


def smooth(values: Sequence[float]) -> list[float]:
    """Return the centred moving average over about a twelfth of the series, shorter at the ends."""
    half = len(values) // 24
    return [fmean(values[max(0, at - half) : at + half + 1]) for at in range(len(values))]


def tick_size(span: float, most: int = 4) -> float:
    """Return the smallest of 1, 2, 2.5 and 5 times a power of ten that divides `span` into at most `most` parts."""
    raw = span / most
    size = float(10 ** math.floor(math.log10(raw)))
    return next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw * 0.999)


def ticks(low: float, high: float) -> list[float]:
    """Return the round values from `low` to `high` that are labelled."""
    size = tick_size(high - low)
    first, last = math.ceil(low / size - 1e-6), math.floor(high / size + 1e-6)
    return [size * index for index in range(first, last + 1)]


def short(value: float) -> str:
    """Return a number in few characters: 0.03, 1.2, 84, 12k."""
    size = abs(value)
    if size >= 10_000:
        return f"{value / 1000:.0f}k"
    if size >= 100:
        return f"{value:,.0f}"
    if size and size < 0.001:
        return f"{value:.0e}"
    if size and size < 0.1:
        return f"{value:.3f}".rstrip("0")
    return f"{value:.2f}".rstrip("0").rstrip(".") if size < 10 else f"{value:.1f}".rstrip("0").rstrip(".")


def _limits(values: Sequence[float], is_share: bool) -> tuple[float, float]:
    """Return the ends of the value axis: 0 is always on it, and its top is a round number."""
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    if is_share and high > 0.5:
        return low, max(1.0, high)
    if high == low:
        return low, low + 1.0
    size = tick_size(high - low)
    return math.floor(low / size + 1e-6) * size, math.ceil(high / size - 1e-6) * size


def _step_labels(first: int, last: int) -> list[tuple[int, str]]:
    if last == first:
        return [(first, "middle")]
    labels = [(first, "start"), (last, "end")]
    return labels if last - first < 3 else [labels[0], ((first + last) // 2, "middle"), labels[1]]


def _path(points: Sequence[tuple[int, float]], x: Scale, y: Scale) -> str:
    return "M" + "L".join(f"{x(step):.1f},{y(value):.1f}" for step, value in points)
