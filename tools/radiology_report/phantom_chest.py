"""Phantoms of the chest: the frontal film and axial CT slices of the lungs."""

from collections.abc import Mapping
from typing import Any

from .canvas import Canvas, paint_lesion

FILM_LUNGS = {"right": (118.0, 150.0, 62.0, 118.0), "left": (242.0, 150.0, 62.0, 118.0)}
"""Centre and radii in mm of the lung fields on the film."""
CT_LUNGS = {"right": (96.0, 120.0, 58.0, 84.0), "left": (224.0, 120.0, 58.0, 84.0)}


def draw_film(spec: Mapping[str, Any]) -> Canvas:
    """Draw a frontal chest film of 360 x 340 mm, in grey levels; bright is dense."""
    canvas = Canvas(240, 227, 1.5, 12, spec["seed"])
    dx, dy = spec["shift"]
    body = canvas.shape(180 + dx, 190 + dy, 172, 190)
    canvas.paint(body, 150)
    lungs = {}
    for side, (x, y, rx, ry) in FILM_LUNGS.items():
        lungs[side] = canvas.shape(x + dx, y + dy, rx, ry, angle=6 if side == "right" else -6)
        canvas.paint(lungs[side], 62)
        canvas.texture(lungs[side], 5, 6)
    for side, (x, y, rx, ry) in FILM_LUNGS.items():
        sign = -1 if side == "right" else 1
        for number in range(8):  # vessels fan out from the hilum
            reach = 35 + 4 * number % 17
            end_x, end_y = x + sign * reach * 0.75, y - 70 + 22 * number
            canvas.add(canvas.line(x - sign * 38 + dx, y + 5 + dy, end_x + dx, end_y + dy, 2.2), 14, lungs[side])
        for rib in range(7):
            top = y - 0.82 * ry + rib * 30
            band = canvas.line(x - rx - 8 + dx, top - sign * 10 + dy, x + rx + 8 + dx, top + sign * 10 + dy, 6)
            canvas.add(band, 13, lungs[side])
    canvas.paint(canvas.shape(180 + dx, 150 + dy, 22, 160), 165)
    canvas.paint(canvas.shape(200 + dx, 208 + dy, 66, 52, angle=28), 172)
    for side, lung in lungs.items():  # the domes of the diaphragm
        x = FILM_LUNGS[side][0]
        canvas.paint(canvas.shape(x + dx, 288 + dy + (0 if side == "right" else 6), 72, 46), 170)
        if side in spec.get("free_air", ()):
            canvas.paint(canvas.shape(x + dx, 250 + dy + (0 if side == "right" else 6), 40, 5), 40)
        if side == spec.get("effusion", {}).get("side"):
            level = 246 - spec["effusion"]["height_mm"]
            canvas.paint(canvas.line(x - 80 + dx, level + 50 + dy, x + 80 + dx, level + 50 + dy, 100), 155, lung)
        if side == spec.get("pneumothorax", {}).get("side"):
            sign, width = (-1 if side == "right" else 1), spec["pneumothorax"]["width_mm"]
            canvas.add(lung, -34)
            x0, y0, rx, ry = FILM_LUNGS[side]
            inner = canvas.shape(
                x0 - sign * width / 2 + dx, y0 + width / 2 + dy, rx - width / 2, ry - width / 2,
                angle=6 if side == "right" else -6,
            )  # fmt: skip
            canvas.add(inner, 34, lung)
    for lesion in spec.get("lesions", ()):
        if lesion["finding"] == "consolidation":
            patch = canvas.shape(
                lesion["x"] + dx, lesion["y"] + dy, lesion["long_mm"] / 2, lesion["short_mm"] / 2, wobble=(0.25, 5, 1)
            )
            canvas.paint(patch, 138, opacity=0.92)
            canvas.texture(patch, 7, 5)
        else:
            paint_lesion(canvas, lesion, dx, dy)
    return canvas


def draw_lung_ct(spec: Mapping[str, Any]) -> Canvas:
    """Draw an axial CT slice of 320 x 250 mm, in HU."""
    canvas = Canvas(320, 250, 1.0, -1000, spec["seed"])
    dx, dy = spec["shift"]
    canvas.paint(canvas.shape(160 + dx, 124 + dy, 152, 112), -90)
    canvas.paint(canvas.shape(160 + dx, 124 + dy, 144, 103), 40)
    lungs = {}
    for side, (x, y, rx, ry) in CT_LUNGS.items():
        lungs[side] = canvas.shape(x + dx, y + dy, rx, ry)
        canvas.paint(lungs[side], -850)
        canvas.texture(lungs[side], 14, 8)
    canvas.paint(canvas.shape(160 + dx, 112 + dy, 27, 62), 40)
    if spec["level"] == "base":
        canvas.paint(canvas.shape(186 + dx, 92 + dy, 44, 40, angle=-25), 45)
    elif spec["level"] == "apex":
        canvas.paint(canvas.shape(160 + dx, 106 + dy, 8, 9), -1000)
    canvas.paint(canvas.shape(160 + dx, 200 + dy, 17, 15), 320)
    if spec["level"] != "apex":
        for side, (x, y, rx, _) in CT_LUNGS.items():  # the fissure, by which the lobes are told apart
            canvas.add(canvas.line(x - rx + dx, y + 6 + dy, x + rx + dx, y + 6 + dy, 0.8), 160, lungs[side])
    anatomy = Canvas(1, 1, 1.0, 0, spec["anatomy_seed"]).rng
    for side, (x, y, rx, ry) in CT_LUNGS.items():
        taken = [(place["x"], place["y"], place["long_mm"] / 2 + 8) for place in spec["keep_clear"]]
        for _ in range(12):  # vessels, cut across or along, apart from each other
            vx, vy = x + anatomy.uniform(-0.72, 0.72) * rx, y + anatomy.uniform(-0.75, 0.75) * ry
            turn, radius = anatomy.uniform(0, 180), anatomy.uniform(0.7, 1.2)
            length = radius * anatomy.uniform(1, 4.5)
            if all((vx - tx) ** 2 + (vy - ty) ** 2 > reach**2 for tx, ty, reach in taken):
                taken.append((vx, vy, 15.0))
                canvas.paint(canvas.shape(vx + dx, vy + dy, length, radius, angle=turn), -40, lungs[side])
    for lesion in spec.get("lesions", ()):
        paint_lesion(canvas, lesion, dx, dy)
    return canvas
