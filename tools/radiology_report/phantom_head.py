"""Phantom of the head: axial CT slices with haemorrhage, early ischaemia, old defects and shift."""

from collections.abc import Mapping
from typing import Any

from .canvas import Canvas, paint_lesion

CENTRE, RADII = (95.0, 115.0), (66.0, 84.0)
"""Centre and radii in mm of the brain."""
TERRITORY = {
    "C": (0.17, 0.385, 0.055, 0.06), "IC": (0.275, 0.48, 0.035, 0.085), "L": (0.385, 0.48, 0.06, 0.085), "I": (0.545, 0.47, 0.04, 0.1),
    "M1": (0.53, 0.245, 0.14, 0.06), "M2": (0.765, 0.48, 0.1, 0.085), "M3": (0.6, 0.725, 0.13, 0.07),
    "M4": (0.5, 0.25, 0.16, 0.07), "M5": (0.64, 0.49, 0.19, 0.09), "M6": (0.5, 0.735, 0.16, 0.075),
}  # fmt: skip
"""ASPECTS regions: distance from the midline in half widths, depth from the front in lengths, and half sizes of both."""
GREY_MATTER = ("C", "L", "I")


def draw_head(spec: Mapping[str, Any]) -> Canvas:
    """Draw an axial slice of 190 x 230 mm, in HU; level is "ganglionic" or "supraganglionic"."""
    canvas = Canvas(190, 230, 1.0, -1000, spec["seed"])
    dx, dy = spec["shift"]
    x, y = CENTRE[0] + dx, CENTRE[1] + dy
    canvas.paint(canvas.shape(x, y, RADII[0] + 11, RADII[1] + 11), 30)
    canvas.paint(canvas.shape(x, y, RADII[0] + 8, RADII[1] + 8), 900)
    canvas.paint(canvas.shape(x, y, RADII[0] + 1.5, RADII[1] + 1.5), 8)
    brain = canvas.shape(x, y, *RADII)
    canvas.paint(brain, 33)
    canvas.texture(brain, 0.7, 5)
    moved = spec.get("midline_shift_mm", 0.0)
    towards = moved if spec.get("shift_to") == "left" else -moved
    canvas.paint(canvas.line(x, y - RADII[1], x, y - 0.45 * RADII[1], 1.6), 48, brain)  # the falx, fixed to the skull
    canvas.paint(canvas.line(x, y + 0.45 * RADII[1], x, y + RADII[1], 1.6), 48, brain)
    depth = 0.62 if spec["level"] == "ganglionic" else 0.5
    for side in (-1, 1):  # the lateral ventricles, moved with the midline
        cx = x + towards + side * (6.5 if spec["level"] == "ganglionic" else 9)
        horn = canvas.shape(cx, y - 0.08 * RADII[1], 3.6, 22 * depth, angle=side * 8)
        canvas.paint(horn, 6)
    canvas.paint(canvas.line(x + towards, y - 16, x + towards, y + 16, 2.0), 46)  # the septum between them
    for entry in spec.get("ischaemia", ()):
        canvas.add(_territory(canvas, entry["region"], entry["side"], dx, dy), entry["drop_hu"], brain)
    for lesion in spec.get("lesions", ()):
        if lesion["finding"] in ("subdural_haematoma", "epidural_haematoma"):
            _collection(canvas, lesion, x, y)
        else:
            paint_lesion(canvas, lesion, dx, dy)
    return canvas


def _territory(canvas: Canvas, region: str, side: str, dx: float, dy: float) -> Any:
    across, depth, half_across, half_depth = TERRITORY[region]
    sign = -1 if side == "right" else 1
    x = CENTRE[0] + dx + sign * across * RADII[0]
    y = CENTRE[1] + dy + (2 * depth - 1) * RADII[1]
    return canvas.shape(x, y, 1.25 * half_across * RADII[0], 1.25 * 2 * half_depth * RADII[1])


def _collection(canvas: Canvas, lesion: Mapping[str, Any], x: float, y: float) -> None:
    """Blood between skull and brain: a crescent that follows the skull, or a lens that bulges inwards."""
    sign, thick = (-1 if lesion["location"].startswith("right") else 1), lesion["long_mm"]
    inside = canvas.shape(x, y, RADII[0] + 1.5, RADII[1] + 1.5)
    if lesion["finding"] == "subdural_haematoma":
        before = canvas.values.copy()
        canvas.paint(inside, lesion["value"])
        spared = canvas.shape(x - sign * (thick - 1.5), y, *RADII)
        part = canvas.values[spared.rows, spared.columns]
        part += spared.alpha * (before[spared.rows, spared.columns] - part)
    else:
        centre = x + sign * (RADII[0] + 1.5 - thick / 2)
        canvas.paint(canvas.shape(centre, y - 6, thick / 2 + 2, 1.6 * thick), lesion["value"], inside)
