"""Phantoms of breast, liver, thyroid, kidney, and of the abdomen under treatment."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .canvas import Canvas, paint_lesion


def draw_breast(spec: Mapping[str, Any]) -> Canvas:
    """Draw one view of a mammogram of 120 x 160 mm, in grey levels; the chest wall is at the image's left edge."""
    canvas = Canvas(240, 320, 0.5, 4, spec["seed"])
    dx, dy = spec["shift"]
    breast = canvas.shape(0 + dx, 80 + dy, 95, 68)
    canvas.paint(breast, 58)
    canvas.texture(breast, 7, 12)
    gland = canvas.shape(30 + dx, 80 + dy, 40, 40)
    amount = 6 + 9 * spec["density"]  # density a to d as 0 to 3
    canvas.add(gland, amount * 0.6)
    canvas.texture(gland, amount * 0.45, 9)
    canvas.paint(canvas.shape(94 + dx, 80 + dy, 4, 4), 120)
    for lesion in spec.get("lesions", ()):
        if lesion["finding"] == "calcifications":
            _calcifications(canvas, lesion, dx, dy)
        else:
            if lesion["margin"] == "indistinct":
                for step in range(6):
                    halo = {
                        **lesion,
                        "margin": "smooth",
                        "long_mm": lesion["long_mm"] + 5 - 1.6 * step,
                        "short_mm": lesion["short_mm"] + 5 - 1.6 * step,
                    }
                    patch = canvas.shape(
                        halo["x"] + dx, halo["y"] + dy, halo["long_mm"] / 2, halo["short_mm"] / 2, angle=halo["angle"]
                    )
                    canvas.paint(patch, lesion["value"], opacity=0.28)
            else:
                paint_lesion(canvas, lesion, dx, dy)
    return canvas


def _calcifications(canvas: Canvas, lesion: Mapping[str, Any], dx: float, dy: float) -> None:
    rng = np.random.default_rng(lesion["pattern_seed"])
    x, y, reach, kind = lesion["x"] + dx, lesion["y"] + dy, lesion["long_mm"] / 2, lesion["morphology"]
    if kind == "coarse":
        canvas.paint(canvas.shape(x, y, reach, reach * 0.85, wobble=(0.15, 4, 1)), 245)
        return
    placed: list[tuple[float, float]] = []
    while len(placed) < 9:
        px, py = rng.uniform(-reach, reach, 2)
        if px**2 + py**2 < reach**2 and all((px - qx) ** 2 + (py - qy) ** 2 > 2.8**2 for qx, qy in placed):
            placed.append((px, py))
    for px, py in placed:
        if kind == "round":
            canvas.paint(canvas.shape(x + px, y + py, 0.75, 0.75), 250)
        else:  # fine linear branching
            canvas.paint(canvas.shape(x + px, y + py, 1.9, 0.5, angle=rng.uniform(-35, 35)), 245)


def draw_liver(spec: Mapping[str, Any]) -> Canvas:
    """Draw an axial CT slice of the liver, 250 x 190 mm, in HU; `phase` sets the enhancement of liver and vessels."""
    canvas = Canvas(250, 190, 1.0, -100, spec["seed"])
    dx, dy = spec["shift"]
    liver_hu, vessel_hu = {"native": (55, 40), "arterial": (72, 80), "portal": (112, 150)}[spec["phase"]]
    right = canvas.shape(88 + dx, 98 + dy, 68, 74)
    left = canvas.shape(150 + dx, 72 + dy, 68, 38, angle=-8)
    for lobe in (right, left):
        canvas.paint(lobe, liver_hu)
    for lobe in (right, left):
        canvas.texture(lobe, 2.0, 5)
    for x1, y1, x2, y2 in spec["vessels"]:
        canvas.paint(canvas.line(x1 + dx, y1 + dy, x2 + dx, y2 + dy, 3.0), vessel_hu)
    canvas.paint(canvas.shape(176 + dx, 152 + dy, 20, 18), 45)
    canvas.paint(canvas.shape(176 + dx, 156 + dy, 17, 13), 250)
    canvas.paint(
        canvas.shape(206 + dx, 134 + dy, 10, 10), {"native": 40, "arterial": 300, "portal": 160}[spec["phase"]]
    )
    for lesion in spec.get("lesions", ()):
        paint_lesion(canvas, lesion, dx, dy)
    return canvas


def draw_thyroid(spec: Mapping[str, Any]) -> Canvas:
    """Draw a transverse ultrasound image of one lobe, 64 x 48 mm, in grey levels."""
    canvas = Canvas(256, 192, 0.25, 78, spec["seed"])
    dx, dy = spec["shift"]
    canvas.paint(canvas.shape(32, -2, 60, 9), 150)  # skin and fat
    canvas.paint(canvas.shape(32 + dx, 10 + dy, 34, 4), 66)  # strap muscles
    lobe = canvas.shape(32 + dx, 27 + dy, 23, 15)
    canvas.paint(lobe, 150)
    side = -1 if spec["side"] == "left" else 1
    canvas.paint(canvas.shape(32 + side * 31 + dx, 30 + dy, 7, 9), 8)  # trachea
    canvas.paint(canvas.shape(32 - side * 27 + dx, 30 + dy, 4.2, 5), 12)  # carotid artery
    for lesion in spec.get("lesions", ()):
        _thyroid_nodule(canvas, lesion, dx, dy)
    canvas.texture(canvas.shape(32, 24, 60, 60), 6, 0.9)
    return canvas


def _thyroid_nodule(canvas: Canvas, lesion: Mapping[str, Any], dx: float, dy: float) -> None:
    paint_lesion(canvas, lesion, dx, dy)
    x, y, rx, ry = lesion["x"] + dx, lesion["y"] + dy, lesion["long_mm"] / 2, lesion["short_mm"] / 2
    rng = np.random.default_rng(lesion["pattern_seed"])
    body = canvas.shape(x, y, rx, ry)
    if lesion["composition"] == "mixed":  # one cyst that fills about half
        canvas.paint(canvas.shape(x + 0.25 * rx, y, 0.62 * rx, 0.72 * ry), 12, body)
    elif lesion["composition"] == "spongiform":
        step = 1.5
        for row in np.arange(-ry, ry, step):
            for column in np.arange(-rx, rx, step):
                if (column / (rx - 0.6)) ** 2 + (row / (ry - 0.6)) ** 2 < 1.02:
                    canvas.paint(canvas.shape(x + column + rng.uniform(-0.1, 0.1), y + row, 0.62, 0.6), 15)
    if lesion["foci"] == "punctate":
        for turn in range(7):
            angle, far = 2.4 * turn, 0.12 + 0.065 * turn
            canvas.paint(canvas.shape(x + far * rx * np.cos(angle), y + far * ry * np.sin(angle), 0.4, 0.4), 250)
    elif lesion["foci"] == "macrocalcification":
        canvas.paint(canvas.shape(x - 0.2 * rx, y, min(1.5, 0.28 * rx), min(1.1, 0.22 * rx)), 250)
    elif lesion["foci"] == "rim_calcification":
        canvas.paint(body, 250)
        canvas.paint(canvas.shape(x, y, rx - 0.9, ry - 0.9), lesion["value"])


def draw_kidney(spec: Mapping[str, Any]) -> Canvas:
    """Draw a coronal CT image of one kidney, 130 x 150 mm, in HU, without or with contrast."""
    canvas = Canvas(260, 300, 0.5, -100, spec["seed"])
    dx, dy = spec["shift"]
    enhanced = spec["phase"] == "nephrographic"
    kidney = canvas.shape(62 + dx, 75 + dy, 33, 60)
    canvas.paint(kidney, 170 if enhanced else 34)
    sinus = 84 if spec["side"] == "right" else 40
    canvas.paint(canvas.shape(sinus + dx, 75 + dy, 13, 24), -80)
    canvas.texture(kidney, 2.5, 3)
    for cyst in spec.get("lesions", ()):
        _cyst(canvas, cyst, dx, dy, enhanced)
    return canvas


def _cyst(canvas: Canvas, cyst: Mapping[str, Any], dx: float, dy: float, enhanced: bool) -> None:
    """Draw wall, fluid, septa and nodule; walls stand at 34 HU without contrast and at `wall_hu` with it."""
    x, y, radius = cyst["x"] + dx, cyst["y"] + dy, cyst["long_mm"] / 2
    solid = cyst["wall_hu"] if enhanced else 34
    canvas.paint(canvas.shape(x, y, radius, radius), solid)
    inner = radius - cyst["wall_mm"]
    fluid = canvas.shape(x, y, inner, inner)
    canvas.paint(fluid, cyst["fluid_hu"])
    for number in range(cyst["septa"]):
        at = x + inner * (2 * (number + 1) / (cyst["septa"] + 1) - 1) * 0.85
        canvas.paint(canvas.line(at, y - inner, at, y + inner, cyst["septa_mm"]), solid, fluid)
    if cyst["nodule_mm"]:
        half = cyst["nodule_mm"] / 2
        canvas.paint(canvas.shape(x, y + inner - half + 1, 1.3 * half, half + 1), solid, fluid)
