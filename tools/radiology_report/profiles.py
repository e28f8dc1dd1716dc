"""Means in discs and rings, and lines cut into stretches of one value."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from healthgym.errors import ToolError

from .images import Image
from .measure import imaging, pixel_of


@dataclass(frozen=True)
class Piece:
    """A stretch of a line with about one value. Lengths in mm."""

    start_mm: float
    end_mm: float
    mean: float

    @property
    def length_mm(self) -> float:
        """Length in mm."""
        return self.end_mm - self.start_mm


def pieces_of(distance: np.ndarray, values: np.ndarray, contrast: float, pixel_mm: float) -> list[Piece]:
    """Cut a profile where it is steepest, so that a piece's length is its width at half of its contrast.

    distance: (n,) mm. values: (n,). contrast: smallest step that counts. pixel_mm: one pixel.
    """
    *_, ndimage = imaging()
    step = float(distance[1] - distance[0])
    slope = ndimage.gaussian_filter1d(values, 0.5 * pixel_mm / step, order=1)
    strength = np.abs(slope)
    reach = max(1, int(0.8 * pixel_mm / step))
    cuts = [
        place
        for place in range(1, len(values) - 1)
        if strength[place] == strength[max(0, place - reach) : place + reach + 1].max()
        and abs(values[min(len(values) - 1, place + 2 * reach)] - values[max(0, place - 2 * reach)]) > contrast
    ]
    borders = [0, *cuts, len(values) - 1]
    pieces = []
    for first, last in pairwise(borders):
        margin = (last - first) // 4
        inner = values[first + margin : last - margin + 1]
        pieces.append(Piece(float(distance[first]), float(distance[last]), float(np.median(inner))))
    return pieces


def disc_mean(image: Image, x_mm: float, y_mm: float, radius_mm: float, inner_mm: float = 0.0) -> tuple[float, float]:
    """Return mean and standard deviation in a disc, or in the ring between `inner_mm` and `radius_mm`."""
    row, column = pixel_of(image, x_mm, y_mm)
    yy, xx = np.ogrid[: image.values.shape[0], : image.values.shape[1]]
    distance = np.hypot(yy - row, xx - column) * image.pixel_mm
    chosen = image.values[(distance <= radius_mm) & (distance >= inner_mm)]
    return (float(chosen.mean()), float(chosen.std())) if chosen.size else (float(image.values[row, column]), 0.0)


def line_values(image: Image, start: tuple[float, float], end: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return (distance in mm, value) along a line, two samples a pixel, averaged over 3 pixels across."""
    *_, ndimage = imaging()
    for x, y in (start, end):
        pixel_of(image, x, y)
    length = float(np.hypot(end[0] - start[0], end[1] - start[1]))
    if length < 2 * image.pixel_mm:
        raise ToolError(f"The line is {length:.1f} mm long; draw at least {2 * image.pixel_mm:g} mm.")
    count = int(2 * length / image.pixel_mm) + 1
    t = np.linspace(0, 1, count)
    across = np.array([-(end[1] - start[1]), end[0] - start[0]]) / length * image.pixel_mm
    total = np.zeros(count)
    for step in (-1, 0, 1):
        x = start[0] + t * (end[0] - start[0]) + step * across[0]
        y = start[1] + t * (end[1] - start[1]) + step * across[1]
        total += ndimage.map_coordinates(
            image.values, [y / image.pixel_mm - 0.5, x / image.pixel_mm - 0.5], order=1, mode="nearest"
        )
    return t * length, total / 3
