"""Histology fields: Ki-67 stained nuclei (0.5 um/px), and eosinophils in squamous epithelium (1.6 um/px)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .canvas import Field, Pixels, ellipse, finish, grid, paint, texture

SIZE_PX = 352
BLUE, BROWN, EOSIN = (104.0, 126.0, 176.0), (122.0, 74.0, 40.0), (226.0, 70.0, 62.0)
STROMA, PINK, PURPLE = (232.0, 230.0, 236.0), (236.0, 190.0, 204.0), (128.0, 92.0, 156.0)


def draw(truth: Mapping[str, Any]) -> Pixels:
    """Draw a field, (352, 352, 3).

    Args:
        truth: seed, stain ("ki67" or "he"), noise; for ki67 nuclei and positive; for he eosinophils.
    """
    rng = np.random.default_rng(truth["seed"])
    y, x = grid(SIZE_PX, SIZE_PX)
    image = _ki67(truth, rng, y, x) if truth["stain"] == "ki67" else _epithelium(truth, rng, y, x)
    image += rng.standard_normal(image.shape) * float(truth.get("noise", 3.0))
    return finish(image)


def _ki67(truth: Mapping[str, Any], rng: np.random.Generator, y: Field, x: Field) -> Field:
    """Return nuclei of 8 to 10 um, brown where positive, blue where not."""
    image = np.empty((SIZE_PX, SIZE_PX, 3))
    image[:] = STROMA
    image += texture(rng, y.shape, 6.0, 4.0)[..., None] * np.array([0.6, 0.8, 0.4])
    spots = jittered(rng, 26.0, 2.0, 14.0)
    chosen = [spots[i] for i in rng.permutation(len(spots))[: truth["nuclei"]]]
    for place, spot in enumerate(chosen):
        radii = (float(rng.uniform(8.0, 9.6)), float(rng.uniform(6.6, 8.0)))
        shade = float(rng.uniform(0.9, 1.12))
        base = BROWN if place < truth["positive"] else BLUE
        _blob(
            image, y, x, spot, radii, float(rng.uniform(0, np.pi)), (base[0] * shade, base[1] * shade, base[2] * shade)
        )
    grain = texture(rng, y.shape, 1.2, 5.0)[..., None]
    return image + grain


def _epithelium(truth: Mapping[str, Any], rng: np.random.Generator, y: Field, x: Field) -> Field:
    """Return pink squamous cells with purple nuclei and, between them, eosinophils of about 12 um."""
    image = np.empty((SIZE_PX, SIZE_PX, 3))
    image[:] = PINK
    image += texture(rng, y.shape, 5.0, 4.0)[..., None]
    spots = jittered(rng, 21.0, 3.0, 10.0)
    order = rng.permutation(len(spots))
    eosinophils = {int(i) for i in order[: truth["eosinophils"]]}
    for place, (cy, cx) in enumerate(spots):
        angle = float(rng.uniform(0, np.pi))
        if place not in eosinophils:
            _ring(image, y, x, (cy, cx), 10.0)
            _blob(image, y, x, (cy, cx), (3.2, 2.4), angle, PURPLE)
            continue
        _blob(image, y, x, (cy, cx), (5.4, 4.8), angle, EOSIN)
        for step in (-1.9, 1.9):
            at = (cy + step * np.sin(angle), cx + step * np.cos(angle))
            _blob(image, y, x, at, (1.7, 1.7), 0.0, (86.0, 48.0, 120.0))
    return image


def jittered(rng: np.random.Generator, step: float, jitter: float, margin: float) -> list[tuple[float, float]]:
    """Return spots of a jittered hexagonal lattice."""
    spots = []
    for row, cy in enumerate(np.arange(margin, SIZE_PX - margin + 0.1, step * 0.87)):
        for cx in np.arange(margin + (row % 2) * step / 2, SIZE_PX - margin + 0.1, step):
            spots.append((float(cy + rng.uniform(-jitter, jitter)), float(cx + rng.uniform(-jitter, jitter))))
    return spots


def _blob(
    image: Field,
    y: Field,
    x: Field,
    spot: tuple[float, float],
    radii: tuple[float, float],
    turn: float,
    colour: tuple[float, float, float],
) -> None:
    window = _window(spot, 13)
    paint(image[window], ellipse(y[window], x[window], spot, radii, turn=turn), colour)


def _ring(image: Field, y: Field, x: Field, spot: tuple[float, float], radius: float) -> None:
    window = _window(spot, 13)
    distance = np.hypot(y[window] - spot[0], x[window] - spot[1])
    paint(image[window], 0.45 * np.clip(1.2 - np.abs(distance - radius), 0.0, 1.0), (214.0, 150.0, 174.0))


def _window(spot: tuple[float, float], reach: int) -> tuple[slice, slice]:
    top, left = int(spot[0]), int(spot[1])
    return slice(max(0, top - reach), top + reach + 1), slice(max(0, left - reach), left + reach + 1)
