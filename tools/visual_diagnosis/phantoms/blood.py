"""A blood film: red cells of one pattern, white cells, platelets; 0.25 um/px."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from healthgym.errors import ContentError

from .canvas import Field, Pixels, ellipse, finish, grid, paint, ramp, scatter, texture

SIZE_PX = 384
UM_PER_PX = 0.25
PAPER, CELL, PALLOR = (236.0, 232.0, 230.0), (206.0, 128.0, 118.0), (238.0, 206.0, 198.0)
NUCLEUS, CYTOPLASM, GRANULE, RING = (
    (92.0, 58.0, 138.0),
    (208.0, 190.0, 216.0),
    (150.0, 110.0, 170.0),
    (74.0, 54.0, 150.0),
)


def draw(truth: Mapping[str, Any]) -> Pixels:
    """Draw a field, (384, 384, 3).

    Args:
        truth: seed, cells (red cells wanted), kinds (numbers of "hypochromic", "spherocyte", "sickle", "fragment", "infected"
            cells among them; the others are normal), neutrophils, lymphocytes, platelets, noise.
    """
    rng = np.random.default_rng(truth["seed"])
    y, x = grid(SIZE_PX, SIZE_PX)
    image = np.empty((SIZE_PX, SIZE_PX, 3))
    image[:] = PAPER
    image += texture(rng, (SIZE_PX, SIZE_PX), 14.0, 2.0)[..., None]
    taken: list[tuple[float, float]] = []
    low, high = (32.0, 32.0), (SIZE_PX - 32.0, SIZE_PX - 32.0)
    whites = scatter(rng, truth.get("neutrophils", 0) + truth.get("lymphocytes", 0), low, high, 75.0, taken)
    for place, spot in enumerate(whites):
        _white(image, y, x, spot, rng, lobed=place < truth.get("neutrophils", 0))
    blocked = [(cy + dy, cx + dx) for cy, cx in whites for dy in (-14, 14) for dx in (-14, 14)]
    taken += blocked
    low, high = (19.0, 19.0), (SIZE_PX - 19.0, SIZE_PX - 19.0)
    spots = lattice(rng, truth["cells"], taken)
    kinds = [name for name, count in sorted(truth.get("kinds", {}).items()) for _ in range(count)]
    kinds += ["normal"] * (truth["cells"] - len(kinds))
    for spot, place in zip(spots, rng.permutation(len(kinds)), strict=False):
        _red(image, y, x, spot, rng, kinds[place])
    for spot in scatter(rng, truth.get("platelets", 0), (8, 8), (SIZE_PX - 8.0, SIZE_PX - 8.0), 23.0, [*taken, *spots]):
        radius = float(rng.uniform(4.0, 6.0))
        _local(image, y, x, spot, 10, lambda v, u, s=spot, r=radius: [(ellipse(v, u, s, (r, r * 0.85)), GRANULE)])
    image += rng.standard_normal(image.shape) * float(truth.get("noise", 3.0))
    return finish(image)


def lattice(rng: np.random.Generator, count: int, taken: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return `count` spots on a jittered hexagonal lattice, clear of `taken`: films are dense, and cells do not overlap."""
    step = 40.5
    spots = []
    for row, cy in enumerate(np.arange(21.0, SIZE_PX - 20.0, step * 0.87)):
        for cx in np.arange(21.0 + (row % 2) * step / 2, SIZE_PX - 20.0, step):
            spot = (float(cy + rng.uniform(-1.5, 1.5)), float(cx + rng.uniform(-1.5, 1.5)))
            if all((spot[0] - a) ** 2 + (spot[1] - b) ** 2 > 31.0**2 for a, b in taken):
                spots.append(spot)
    if len(spots) < count:
        raise ContentError(f"a film has room for {len(spots)} of {count} red cells; draw fewer")
    return [spots[i] for i in rng.permutation(len(spots))[:count]]


def _local(image: Field, y: Field, x: Field, spot: tuple[float, float], reach: int, layers: Any) -> None:
    """Paint (cover, colour) layers in a window around a spot only."""
    top, left = max(0, int(spot[0]) - reach), max(0, int(spot[1]) - reach)
    window = (slice(top, int(spot[0]) + reach + 1), slice(left, int(spot[1]) + reach + 1))
    part = image[window]
    for cover, colour in layers(y[window], x[window]):
        paint(part, cover, colour)


def _red(image: Field, y: Field, x: Field, spot: tuple[float, float], rng: np.random.Generator, kind: str) -> None:
    """Paint one red cell. Normal: 7.2 to 7.8 um wide, pallor just under one third of that."""
    angle = float(rng.uniform(0, np.pi))

    def layers(v: Field, u: Field) -> list[tuple[Field, tuple[float, float, float]]]:
        radius = float(rng.uniform(7.2, 7.8)) / UM_PER_PX / 2
        if kind == "hypochromic":
            radius = float(rng.uniform(5.7, 6.2)) / UM_PER_PX / 2
            return [
                (ellipse(v, u, spot, (radius, radius)), CELL),
                (ellipse(v, u, spot, (0.7 * radius,) * 2, edge_px=4), PALLOR),
            ]
        if kind == "spherocyte":
            radius = float(rng.uniform(5.6, 6.2)) / UM_PER_PX / 2
            return [(ellipse(v, u, spot, (radius, radius)), (196.0, 108.0, 100.0))]
        if kind == "sickle":
            bow = ellipse(v, u, spot, (17.0, 7.5), turn=angle)
            away = (spot[0] + 6.5 * np.sin(angle), spot[1] + 6.5 * np.cos(angle))
            return [(bow * (1 - ellipse(v, u, away, (15.0, 5.5), turn=angle)), CELL)]
        if kind == "fragment":
            cap = ellipse(v, u, spot, (11.5, 11.5))
            cut = ramp((v - spot[0]) * np.cos(angle) + (u - spot[1]) * np.sin(angle) - 0.5, 1.5)
            return [(cap * cut, CELL)]
        oval = radius * float(rng.uniform(0.96, 1.0))
        shapes = [
            (ellipse(v, u, spot, (radius, oval), turn=angle), CELL),
            (ellipse(v, u, spot, (0.27 * radius,) * 2, edge_px=5), PALLOR),
        ]
        if kind == "infected":
            off = (spot[0] + 5.5 * np.cos(angle), spot[1] + 5.5 * np.sin(angle))
            distance = np.hypot(v - off[0], u - off[1])
            shapes.append((ramp(np.abs(distance - 3.6) - 0.9), RING))
            shapes.append((ellipse(v, u, (off[0] + 3.4, off[1]), (1.9, 1.9)), (120.0, 24.0, 90.0)))
        return shapes

    _local(image, y, x, spot, 22, layers)


def _white(
    image: Field, y: Field, x: Field, spot: tuple[float, float], rng: np.random.Generator, *, lobed: bool
) -> None:
    """Paint a neutrophil with a lobed nucleus, or a lymphocyte with a round one."""
    start = float(rng.uniform(0, 6))

    def layers(v: Field, u: Field) -> list[tuple[Field, tuple[float, float, float]]]:
        if not lobed:
            return [(ellipse(v, u, spot, (18.0, 17.0)), CYTOPLASM), (ellipse(v, u, spot, (14.5, 14.0)), NUCLEUS)]
        shapes = [(ellipse(v, u, spot, (25.0, 24.0)), CYTOPLASM)]
        for lobe in range(3):
            at = (spot[0] + 9.5 * np.sin(start + 1.7 * lobe), spot[1] + 9.5 * np.cos(start + 1.7 * lobe))
            shapes.append((ellipse(v, u, at, (8.0, 7.0), turn=start + lobe), NUCLEUS))
        return shapes

    _local(image, y, x, spot, 28, layers)
