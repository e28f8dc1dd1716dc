"""Dermoscopy of a pigmented skin lesion: outline, border, colours, structures; 0.05 mm/px."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .canvas import Field, Pixels, ellipse, finish, grid, paint, polyline, ramp, texture

SIZE_PX = 288
MM_PER_PX = 0.05
CENTRE = 143.5
SKIN_TONES = ((232.0, 196.0, 172.0), (222.0, 180.0, 150.0), (210.0, 166.0, 134.0))
COLOURS: Mapping[str, tuple[float, float, float]] = {
    "light_brown": (168.0, 112.0, 70.0),
    "dark_brown": (98.0, 58.0, 34.0),
    "black": (28.0, 22.0, 22.0),
    "blue_grey": (96.0, 112.0, 138.0),
    "red": (188.0, 62.0, 62.0),
    "white": (246.0, 240.0, 236.0),
}
SOFT_PX, SHARP_PX = 22.0, 2.0


def draw(truth: Mapping[str, Any]) -> Pixels:
    """Draw a lesion, (288, 288, 3).

    Args:
        truth: seed, diameter_mm, asymmetry (axes, 0 to 2), sharp (the eighths whose border is cut off, counted clockwise from
            the right), colours (the first is the ground), structures (of "network", "structureless", "dots", "globules",
            "streaks"), turn (radians), tone (0 to 2), noise.
    """
    rng = np.random.default_rng(truth["seed"])
    y, x = grid(SIZE_PX, SIZE_PX)
    image = np.empty((SIZE_PX, SIZE_PX, 3))
    image[:] = SKIN_TONES[truth["tone"]]
    image += texture(rng, y.shape, 3.0, 3.0)[..., None] + texture(rng, y.shape, 25.0, 3.0)[..., None]
    radius = truth["diameter_mm"] / MM_PER_PX / 2
    eighth = (np.floor(np.arctan2(y - CENTRE, x - CENTRE) / (np.pi / 4)) % 8).astype(int)
    sharp = np.isin(eighth, list(truth["sharp"]))
    middle = _centroid(truth["asymmetry"], truth["turn"]) * radius
    down, right = y - CENTRE + middle[0], x - CENTRE + middle[1]
    edge = outline(np.arctan2(down, right) - truth["turn"], truth["asymmetry"]) * radius
    distance = np.hypot(down, right)
    cover = np.where(sharp, ramp(distance - edge, SHARP_PX), ramp(distance - edge, SOFT_PX))
    lesion = np.empty_like(image)
    lesion[:] = COLOURS[truth["colours"][0]]
    _patches(lesion, y, x, truth["colours"][1:], radius, rng)
    _structures(lesion, y, x, truth["structures"], radius, rng)
    lesion += texture(rng, y.shape, 1.5, 4.0)[..., None]
    image += cover[..., None] * (lesion - image)
    image += rng.standard_normal(image.shape) * float(truth.get("noise", 2.5))
    return finish(image)


def outline(around: Field, asymmetry: int) -> Field:
    """Return the border's distance from the centre relative to the mean: an oval, an egg, or neither.

    The oval is its own mirror image about both axes, the egg about one, the last about none.
    """
    oval = 1 + 0.10 * np.cos(2 * around)
    if asymmetry == 0:
        return oval
    egg = oval + 0.13 * np.cos(3 * around) + 0.06 * np.cos(around)
    if asymmetry == 1:
        return egg
    return oval + 0.06 * np.cos(2 * around) + 0.17 * np.cos(3 * around - 0.785) + 0.07 * np.sin(5 * around)


def _centroid(asymmetry: int, turn: float) -> Field:
    """Return row and column of an outline's centroid relative to its mean radius."""
    around = np.linspace(0, 2 * np.pi, 720, endpoint=False)
    reach = outline(around - turn, asymmetry)
    weight = (reach**2).mean() / 2
    return np.array([(reach**3 * np.sin(around)).mean(), (reach**3 * np.cos(around)).mean()]) / 3 / weight


def _patches(
    lesion: Field, y: Field, x: Field, colours: tuple[str, ...], radius: float, rng: np.random.Generator
) -> None:
    """Paint one patch of each further colour, each about a ninth of the lesion, apart from each other."""
    start = float(rng.uniform(0, 2 * np.pi))
    warp_y, warp_x = (texture(rng, y.shape, 7.0, 0.04 * radius) for _ in range(2))
    for place, name in enumerate(colours):
        angle = start + 2 * np.pi * place / max(3, len(colours))
        at = (CENTRE + 0.38 * radius * np.sin(angle), CENTRE + 0.38 * radius * np.cos(angle))
        size = radius * float(rng.uniform(0.18, 0.21))
        paint(lesion, ellipse(y + warp_y, x + warp_x, at, (size, size * 1.15), turn=angle, edge_px=2.5), COLOURS[name])


def _structures(
    lesion: Field, y: Field, x: Field, structures: tuple[str, ...], radius: float, rng: np.random.Generator
) -> None:
    """Darken or lighten fine structures; each covers too little to count as a colour."""
    if "network" in structures:
        lines = np.minimum(np.abs((x + y) % 14 - 7), np.abs((x - y) % 14 - 7))
        lesion *= 1 - 0.16 * (ramp(lines - 0.8) * ramp(x - CENTRE + 0.1 * radius, 12.0))[..., None]
    if "structureless" in structures:
        lesion *= 1 + 0.07 * ellipse(y, x, (CENTRE, CENTRE), (0.17 * radius, 0.17 * radius), edge_px=6)[..., None]
    for name, size, count in (("dots", 1.3, 12), ("globules", 2.6, 5)):
        if name in structures:
            for angle in rng.uniform(0, 2 * np.pi, count):
                reach = radius * float(rng.uniform(0.1, 0.66))
                at = (CENTRE + reach * np.sin(angle), CENTRE + reach * np.cos(angle))
                lesion *= 1 - 0.45 * ellipse(y, x, at, (size, size))[..., None]
    if "streaks" in structures:
        for angle in np.linspace(0, 0.8, 4) + float(rng.uniform(0, 6)):
            ends = [(CENTRE + r * radius * np.sin(angle), CENTRE + r * radius * np.cos(angle)) for r in (0.72, 0.92)]
            lesion *= 1 - 0.35 * polyline(y, x, np.array(ends), 2.2)[..., None]
