"""Names for places, found from the organ's own outline in the pixels and what the header tells of the slice."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .images import Image
from .measure import box, prepare
from .phantom_head import TERRITORY

ZONES = ("upper", "mid", "lower")


def place_of(image: Image, x_mm: float, y_mm: float) -> str:
    """Return the name of the place at a point, as reports call it."""
    u, v = fraction(image, x_mm, y_mm)
    return _NAMERS[image.kind](image.tags, u, v)


def fraction(image: Image, x_mm: float, y_mm: float) -> tuple[float, float]:
    """Return a point as fractions (across, down) of the organ's bounding box."""
    smooth, mask = prepare(image)
    top, bottom, left, right = box(smooth > 80 if image.kind == "chest_film" else mask)
    return (x_mm / image.pixel_mm - left) / (right - left), (y_mm / image.pixel_mm - top) / (bottom - top)


def point_at(image: Image, u: float, v: float) -> tuple[float, float]:
    """Return the point in mm at fractions (across, down) of the organ's bounding box."""
    smooth, mask = prepare(image)
    top, bottom, left, right = box(smooth > 80 if image.kind == "chest_film" else mask)
    return (left + u * (right - left)) * image.pixel_mm, (top + v * (bottom - top)) * image.pixel_mm


def _side(u: float) -> str:
    return "right" if u < 0.5 else "left"


def _film(tags: Mapping[str, Any], u: float, v: float) -> str:
    return f"{_side(u)}_{ZONES[int(np.clip((v - 0.1) / 0.2, 0, 2))]}_zone"


def _lung(tags: Mapping[str, Any], u: float, v: float) -> str:
    side, in_front = _side(u), v < 0.53
    if tags["level"] == "apex":
        return f"{side}_upper_lobe"
    if tags["level"] == "base" and in_front and side == "right":
        return "right_middle_lobe"
    return f"{side}_upper_lobe" if in_front else f"{side}_lower_lobe"


def _head(tags: Mapping[str, Any], u: float, v: float) -> str:
    if abs(u - 0.5) < 0.2 and 0.36 < v < 0.62:
        return f"{_side(u)}_deep"
    return f"{_side(u)}_{'frontal' if v < 0.36 else 'temporoparietal' if v < 0.68 else 'occipital'}"


def _breast(tags: Mapping[str, Any], u: float, v: float) -> str:
    halves = ("outer", "inner") if tags["view"] == "CC" else ("upper", "lower")
    return f"{tags['side']}_{halves[int(v >= 0.5)]}"


def _liver(tags: Mapping[str, Any], u: float, v: float) -> str:
    is_dome = tags["level"] == "dome"
    if u >= 0.66:
        return "segment_2" if is_dome else "segment_3"
    if u >= 0.43:
        return "segment_4a" if is_dome else "segment_4b"
    if v >= 0.52:
        return "segment_7" if is_dome else "segment_6"
    return "segment_8" if is_dome else "segment_5"


def _thyroid(tags: Mapping[str, Any], u: float, v: float) -> str:
    return f"{tags['side']}_{tags['level']}"


def _kidney(tags: Mapping[str, Any], u: float, v: float) -> str:
    return f"{tags['side']}_{ZONES[int(np.clip(v * 3, 0, 2))]}_pole".replace("mid_pole", "interpolar")


_NAMERS: Mapping[str, Callable[[Mapping[str, Any], float, float], str]] = {
    "chest_film": _film, "lung_ct": _lung, "ct_head": _head, "mammogram": _breast, "liver_ct": _liver,
    "thyroid_us": _thyroid, "renal_ct": _kidney,
}  # fmt: skip

FILM_SITES = {
    "apex": (0.345, 0.155, 0.04, 0.03), "lateral": (0.19, 0.33, 0.022, 0.09), "upper": (0.31, 0.25, 0.06, 0.05),
    "mid": (0.29, 0.40, 0.06, 0.05), "lower": (0.29, 0.545, 0.06, 0.045), "angle": (0.21, 0.62, 0.035, 0.02),
    "under_dome": (0.32, 0.735, 0.05, 0.008),
}  # fmt: skip
"""Places on the film that are compared between the sides: centre and half size, as fractions, for the right side."""


def side_pairs(image: Image) -> list[tuple[str, float, float, float, float]]:
    """Return (place, right mean, left mean, right SD, left SD) for places that mirror each other."""
    rows = []
    for name, (du, v, hu, hv) in _sites(image).items():
        means, spreads = {}, {}
        for side in ("right", "left"):
            u = du if side == "right" else 1 - du
            x1, y1 = point_at(image, u - hu, v - hv)
            x2, y2 = point_at(image, u + hu, v + hv)
            mm = image.pixel_mm
            part = image.values[int(y1 / mm) : int(y2 / mm) + 1, int(x1 / mm) : int(x2 / mm) + 1]
            means[side], spreads[side] = float(np.median(part)), float(part.std())
        rows.append((name, means["right"], means["left"], spreads["right"], spreads["left"]))
    return rows


def _sites(image: Image) -> dict[str, tuple[float, float, float, float]]:
    if image.kind == "chest_film":
        return FILM_SITES
    level = str(image.tags["level"])
    names = ("M4", "M5", "M6") if level == "supraganglionic" else ("C", "L", "IC", "I", "M1", "M2", "M3")
    return {
        name: (
            0.5 - TERRITORY[name][0] / 2,
            TERRITORY[name][1],
            0.55 * TERRITORY[name][2] / 2,
            0.55 * TERRITORY[name][3],
        )
        for name in names
    }
