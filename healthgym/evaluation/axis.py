"""Estimates on one axis, as inline SVG: intervals as bars, floors as lines across them all."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LEFT, RIGHT, ROW, TOP, BOTTOM = 860, 210, 24, 34, 34, 26
CHARACTER = 6.2
"""Width of a letter of a floor's label."""


@dataclass(frozen=True)
class Mark:
    """One estimate: its label, mean, interval (None where there is none) and the text at its right."""

    label: str
    value: float
    interval: tuple[float, float] | None
    is_main: bool = False


def axis(marks: Sequence[Mark], floors: Sequence[tuple[str, float]], *, low: float = 0.0, high: float = 1.0) -> str:
    """Return the drawing.

    Args:
        marks: One row each.
        floors: (name, score), dashed lines whose labels stand above the rows.
        low: Left end of the axis.
        high: Right end.
    """
    placed = _labels(floors, low, high)
    top = TOP + 15 * max((level for *_, level in placed), default=-1)
    height = top + ROW * len(marks) + BOTTOM
    spoken = "; ".join(_spoken(mark) for mark in marks) + "".join(
        f"; floor {name} {score:.1%}" for name, score in floors
    )
    parts = [f'<svg class="axis" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(spoken)}">']
    for tick in range(11):
        share = low + (high - low) * tick / 10
        at = _x(share, low, high)
        parts.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{height - BOTTOM}"/>')
        if tick % 2 == (low < 0):  # the zero of an axis of differences is its middle, tick 5
            shown = f"{share * 100:+.0f}".replace("+0", "0") if low < 0 else f"{share:.0%}"
            parts.append(f'<text class="tick" x="{at:.1f}" y="{height - 8}" text-anchor="middle">{shown}</text>')
    if low < 0:
        at = _x(0.0, low, high)
        parts.append(f'<line class="zero" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{height - BOTTOM}"/>')
    for name, score, anchor, level in placed:
        at, label_y = _x(score, low, high), top - 8 - 15 * level
        parts.append(f'<line class="floor" x1="{at:.1f}" x2="{at:.1f}" y1="{label_y + 4:.0f}" y2="{height - BOTTOM}"/>')
        shown, near = f"{escape(name.replace('_', ' '))} {score:.1%}", at + (3 if anchor == "start" else -3)
        parts.append(f'<text class="floor-label" x="{near:.1f}" y="{label_y}" text-anchor="{anchor}">{shown}</text>')
    for place, mark in enumerate(marks):
        parts += _drawn(mark, top + ROW * place + ROW / 2, low, high)
    return "".join([*parts, "</svg>"])


def _drawn(mark: Mark, y: float, low: float, high: float) -> list[str]:
    kind = " main" if mark.is_main else ""
    at = _x(mark.value, low, high)
    shown = escape(_shortened(mark.label))
    parts = [f'<text class="label{kind}" x="{LEFT - 14}" y="{y + 4:.1f}" text-anchor="end">{shown}</text>']
    if mark.interval is not None:
        start, end = (_x(each, low, high) for each in mark.interval)
        parts.append(f'<line class="span{kind}" x1="{start:.1f}" x2="{end:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
    parts.append(f'<circle class="mean{kind}" cx="{at:.1f}" cy="{y:.1f}" r="{6 if mark.is_main else 4.5}"/>')
    parts.append(
        f'<rect class="hover" x="0" y="{y - ROW / 2:.1f}" width="{WIDTH}" height="{ROW}"><title>{escape(_spoken(mark))}</title></rect>'
    )
    return parts


def _labels(floors: Sequence[tuple[str, float]], low: float, high: float) -> list[tuple[str, float, str, int]]:
    """Return name, score, text anchor and level of each label: above every floor line that it would cross."""
    placed: list[tuple[str, float, str, int]] = []
    for name, score in sorted(floors, key=lambda floor: -floor[1]):
        at, width = _x(score, low, high), CHARACTER * (len(name) + 7)
        crossed = [level for _, other, _, level in placed if _x(other, low, high) <= at + width]
        anchor = "start" if at + width < WIDTH - 4 else "end"
        placed.append((name, score, anchor, max(crossed, default=-1) + 1))
    return placed


def _x(share: float, low: float, high: float) -> float:
    inside = min(1.0, max(0.0, (share - low) / (high - low)))
    return LEFT + (WIDTH - LEFT - RIGHT) * inside


def _shortened(label: str) -> str:
    return label if len(label) <= 30 else f"{label[:29]}…"


def _spoken(mark: Mark) -> str:
    around = "" if mark.interval is None else f", 95 % interval {mark.interval[0]:.1%} to {mark.interval[1]:.1%}"
    return f"{mark.label}: {mark.value:.1%}{around}"
