"""A frontal chest film: thorax, lungs, heart, and one finding."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .canvas import Field, Pixels, blur, ellipse, finish, grid, polyline, ramp, texture

SIZE_PX = 320
MM_PER_PX = 1.2
MIDLINE_PX = 160.0
APEX_PX, BASE_PX = 42.0, 262.0
"""Rows of the lungs' apex and of the costophrenic angles."""
HILUM_PX = 150.0
AIR, LUNG, SOFT, HEART = 22.0, 74.0, 158.0, 176.0
"""Grey levels: free air in the chest, lung, chest wall and fluid, heart."""


def draw(truth: Mapping[str, Any]) -> Pixels:
    """Draw a film, (320, 320) grey, 1.2 mm/px; the patient's right is on the left.

    Args:
        truth: seed, thorax_mm (greatest inner width), ctr; optional rim_mm (pneumothorax at the hilum), fluid_mm (height of
            fluid at the wall), mass_mm (diameter), each with side ("right" or "left"); mass_at (share of the lung's height
            and width); noise.
    """
    rng = np.random.default_rng(truth["seed"])
    y, x = grid(SIZE_PX, SIZE_PX)
    half = truth["thorax_mm"] / MM_PER_PX / 2
    side = {"right": -1.0, "left": 1.0}.get(truth.get("side", ""), 0.0)
    image = _body(y, x, half)
    wall = wall_px(y, half)
    depth = np.abs(x - MIDLINE_PX)
    lungs = ramp(depth - wall) * ramp(_floor_px(x, half) * -1 + y) * ramp(APEX_PX - y)
    inside = LUNG + texture(rng, y.shape, 2.5, 5.0) + _vessels(y, x, half)
    on_side = ((x - MIDLINE_PX) * side > 0).astype(float)
    if truth.get("rim_mm"):
        edge = wall - truth["rim_mm"] / MM_PER_PX * _rim_shape(y)
        free = ramp(edge - depth, 1.0) * on_side
        inside += free * (AIR - inside)
        inside += 70 * ramp(np.abs(depth - edge) - 0.8) * on_side
    if truth.get("fluid_mm"):
        height = truth["fluid_mm"] / MM_PER_PX
        surface = BASE_PX - height * (0.55 + 0.45 * np.clip(depth / half, 0, 1) ** 4)
        inside += ramp(surface - y, 2.0) * on_side * (SOFT - inside)
    if truth.get("mass_mm"):
        radius = truth["mass_mm"] / MM_PER_PX / 2
        centre = mass_centre_px(truth, half)
        inside += ellipse(y, x, centre, (radius, radius), edge_px=3.0) * (SOFT - 6 - inside)
    image += lungs * (inside - image)
    _ribs(image, y, x, half)
    _middle(image, y, x, half, float(truth["ctr"]))
    image += rng.standard_normal(image.shape) * float(truth.get("noise", 3.0))
    return finish(image)


def wall_px(y: Field, half: float) -> Field:
    """Return the distance of the inner chest wall from the midline, by row."""
    t = np.clip((y - APEX_PX) / (0.72 * (BASE_PX - APEX_PX)), 0.0, 1.0)
    return half * np.sqrt(1 - (1 - t) ** 2.2)


def mass_centre_px(truth: Mapping[str, Any], half: float) -> tuple[float, float]:
    """Return row and column of the mass, always well inside aerated lung."""
    down, out = truth["mass_at"]
    row = 105.0 + 75.0 * down
    inner, outer = 38.0, float(wall_px(np.array(row), half)) - 10.0
    radius = truth["mass_mm"] / MM_PER_PX / 2
    side = 1.0 if truth["side"] == "left" else -1.0
    if side > 0 and row > 140:
        inner = 38.0 + (row - 140)
    room = max(0.0, outer - inner - 2 * radius)
    return row, MIDLINE_PX + side * (outer - radius - out * room)


def _rim_shape(y: Field) -> Field:
    """Return the rim's width relative to the hilum: wider at the apex, narrower below."""
    return np.clip(1.0 + (HILUM_PX - y) / 320.0, 0.75, 1.3)


def _floor_px(x: Field, half: float) -> Field:
    """Return the row of the diaphragm: two domes, the right one higher, falling to the angle at the wall."""
    out = np.clip(np.abs(x - MIDLINE_PX) / half, 0.0, 1.0)
    dome = np.where(x < MIDLINE_PX, 34.0, 26.0)
    return BASE_PX - dome * (1 - out**4)


def _body(y: Field, x: Field, half: float) -> Field:
    """Return the trunk on black, with neck and shoulders."""
    widths = np.interp(y[:, 0], [0, 18, 40, 70, 320], [34, 40, half * 1.05, half + 26, half + 22])
    return 8.0 + blur(ramp(np.abs(x - MIDLINE_PX) - widths[:, None], 2.0), 1.5) * (SOFT - 8.0)


def _vessels(y: Field, x: Field, half: float) -> Field:
    """Return brightness of the hilar vessels, fading outwards."""
    depth = np.abs(x - MIDLINE_PX)
    spread = np.exp(-(((depth - 30) / 24) ** 2) - ((y - HILUM_PX - 8) / 32) ** 2)
    branches = 0.5 + 0.5 * np.sin(np.arctan2(y - HILUM_PX, depth) * 9)
    return 14.0 * spread * branches


def _ribs(image: Field, y: Field, x: Field, half: float) -> None:
    """Add the ribs as faint arcs, and the clavicles."""
    depth = np.abs(x - MIDLINE_PX)
    within = ramp(depth - wall_px(y, half) - 3)
    for place in range(9):
        arc = 62.0 + 23.0 * place + 26.0 * (depth / half) ** 2 - 14.0
        image += 9.0 * ramp(np.abs(y - arc) - 2.2, 2.0) * within
    for side in (-1, 1):
        points = np.array(
            [(64.0, MIDLINE_PX + side * 12), (52.0, MIDLINE_PX + side * 55), (40.0, MIDLINE_PX + side * 96)]
        )
        image += 14.0 * polyline(y, x, points, 7.0)


def _middle(image: Field, y: Field, x: Field, half: float, ctr: float) -> None:
    """Paint mediastinum, aortic knob, heart, spine and windpipe."""
    width = 2 * half * ctr
    dx = x - MIDLINE_PX
    reach = np.where(dx < 0, 0.34 * width, 0.66 * width)
    drop = np.where(dx < 0, 58.0, 62.0)
    rows = (y - 208.0) / np.where(y < 208, drop, 48.0)
    heart = ramp((np.hypot(dx / reach, rows) - 1) * 30, 1.5)
    stalk = ramp(np.abs(dx) - 21.0, 2.0) * ramp(30 - y) * ramp(y - 258)
    knob = ellipse(y, x, (108.0, MIDLINE_PX + 18), (13.0, 10.0))
    cover = np.maximum(np.maximum(heart, stalk), knob) * ramp(y - 268, 8.0)
    image += cover * (HEART - image)
    image += 10.0 * ramp(np.abs(dx) - 8.0, 3.0) * (0.75 + 0.25 * np.cos(y / 3.2)) * ramp(30 - y)
    image -= 34.0 * ramp(np.abs(dx) - 6.0, 2.0) * ramp(20 - y) * ramp(y - 128, 10.0)
