"""A colour photograph of the fundus: disc, cup, vessels, macula, lesions of diabetic retinopathy; 30 um/px."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .canvas import Field, Pixels, blur, ellipse, finish, grid, paint, polyline, ramp, scatter, texture

SIZE_PX = 320
UM_PER_PX = 30.0
CENTRE = 159.5
FIELD_PX = 152.0
DISC_PX = (27.0, 24.5)
"""Half-axes of the disc, vertical and horizontal: 1.6 by 1.5 mm."""
RETINA, DISC, CUP = (196.0, 96.0, 46.0), (238.0, 178.0, 104.0), (252.0, 232.0, 188.0)
VESSEL, DOT, BLOT, EXUDATE = (132.0, 38.0, 26.0), (128.0, 28.0, 22.0), (112.0, 18.0, 16.0), (246.0, 222.0, 120.0)


def draw(truth: Mapping[str, Any]) -> Pixels:
    """Draw a photograph, (320, 320, 3). The disc lies on the nasal side: right in a right eye, left in a left one.

    Args:
        truth: seed, eye ("right" or "left"), cup_ratio (vertical); optional dots, blots (numbers by quadrant, from upper left
            clockwise), exudates, preretinal (True for blood in front of the retina), noise.
    """
    rng = np.random.default_rng(truth["seed"])
    y, x = grid(SIZE_PX, SIZE_PX)
    side = 1.0 if truth["eye"] == "right" else -1.0
    disc = (CENTRE - 4, CENTRE + side * 72)
    image = np.empty((SIZE_PX, SIZE_PX, 3))
    image[:] = RETINA
    image *= 1 + texture(rng, y.shape, 9.0, 0.03)[..., None] + texture(rng, y.shape, 2.0, 0.012)[..., None]
    fovea = (CENTRE + 4, CENTRE - side * 14)
    dark = np.exp(-((y - fovea[0]) ** 2 + (x - fovea[1]) ** 2) / (2 * 17.0**2))
    image *= 1 - 0.26 * dark[..., None]
    paint(image, ellipse(y, x, disc, DISC_PX, edge_px=2.5), DISC)
    ratio = float(truth["cup_ratio"])
    paint(image, ellipse(y, x, disc, (DISC_PX[0] * ratio, DISC_PX[1] * ratio * 0.96), edge_px=2.0), CUP)
    vessels = _vessels(y, x, disc, side, rng)
    paint(image, 0.9 * vessels, VESSEL)
    _lesions(image, y, x, truth, rng, vessels, disc, fovea)
    if truth.get("preretinal"):
        centre = (CENTRE + 58, CENTRE - side * 30)
        boat = ellipse(y, x, centre, (30.0, 42.0)) * ramp(centre[0] - 4 - y, 2.0)
        paint(image, boat, (98.0, 10.0, 12.0))
    radius = np.hypot(y - CENTRE, x - CENTRE)
    image *= (1 - 0.32 * (radius / FIELD_PX) ** 2)[..., None]
    image *= ramp(radius - FIELD_PX, 2.0)[..., None]
    image += rng.standard_normal(image.shape) * float(truth.get("noise", 2.5))
    return finish(image)


def _vessels(y: Field, x: Field, disc: tuple[float, float], side: float, rng: np.random.Generator) -> Field:
    """Return the coverage of the four arcades with their branches."""
    cover = np.zeros_like(y)
    for up in (-1.0, 1.0):
        for out, width in ((1.0, 5.0), (0.86, 3.6)):
            cover = np.maximum(cover, polyline(y, x, _arcade(disc, side, up, out, rng), width))
        nasal = np.array([disc, (disc[0] + up * 40, disc[1] + side * 14), (disc[0] + up * 92, disc[1] + side * 24)])
        cover = np.maximum(cover, polyline(y, x, nasal, 2.8))
        spine = _arcade(disc, side, up, 1.0, rng)
        for place in (5, 8):
            twig = np.array([spine[place], (spine[place][0] + up * 24, spine[place][1] - side * 16)])
            cover = np.maximum(cover, polyline(y, x, twig, 2.4))
    return cover


def _arcade(
    disc: tuple[float, float], side: float, up: float, out: float, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """Return points of one vessel arching from the disc around the macula."""
    along = np.linspace(0, 1, 14)
    rows = disc[0] + up * (96 * out * np.sin(along * 1.9) + 3 * np.sin(9 * along))
    columns = disc[1] - side * (185 * along**1.35) * (0.85 + 0.15 * out)
    return np.stack([rows, columns], axis=1)


def _lesions(
    image: Field,
    y: Field,
    x: Field,
    truth: Mapping[str, Any],
    rng: np.random.Generator,
    vessels: Field,
    disc: tuple[float, float],
    fovea: tuple[float, float],
) -> None:
    """Paint dots, blots and exudates, clear of vessels, disc, fovea and the border."""
    free = blur((vessels > 0.05).astype(float), 4.0) < 0.05
    free &= np.hypot(y - CENTRE, x - CENTRE) < FIELD_PX - 16
    free &= np.hypot(y - disc[0], x - disc[1]) > 54
    free &= np.hypot(y - fovea[0], x - fovea[1]) > 16
    if truth.get("preretinal"):
        free &= ~((y > CENTRE + 46) & (y < CENTRE + 104))
    taken: list[tuple[float, float]] = []
    corners = ((0, 0), (0, 1), (1, 1), (1, 0))
    for kind, gap, colour in (("blots", 10.8, BLOT), ("dots", 9.5, DOT)):
        for (down, right), count in zip(corners, truth.get(kind, (0, 0, 0, 0)), strict=True):
            low, high = (8 + 156 * down, 8 + 156 * right), (152 + 160 * down, 152 + 160 * right)
            for spot in scatter(rng, count, low, high, gap, taken, free):
                size = float(rng.uniform(3.1, 3.8)) if kind == "blots" else float(rng.uniform(1.6, 1.9))
                _spot(image, y, x, spot, (size, size * float(rng.uniform(0.88, 1.0))), colour)
    for spot in scatter(rng, int(truth.get("exudates", 0)), (70, 70), (250, 250), 12.0, taken, free):
        size = float(rng.uniform(2.2, 3.2))
        _spot(image, y, x, spot, (size, size), EXUDATE)


def _spot(
    image: Field,
    y: Field,
    x: Field,
    spot: tuple[float, float],
    radii: tuple[float, float],
    colour: tuple[float, float, float],
) -> None:
    top, left = int(spot[0]) - 9, int(spot[1]) - 9
    window = (slice(max(0, top), top + 19), slice(max(0, left), left + 19))
    paint(image[window], ellipse(y[window], x[window], spot, radii, edge_px=1.6), colour)
