"""A canvas in millimetres: soft-edged shapes and smooth noise, in Hounsfield units or grey levels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Patch:
    """A shape's coverage in [0, 1] on the part of the canvas around it."""

    rows: slice
    columns: slice
    alpha: Array


class Canvas:
    """An image being drawn. Coordinates are mm from the top left corner; image left is the patient's right.

    values: (height, width) float32, in HU for CT, else in grey levels 0 to 255.
    """

    def __init__(self, width_px: int, height_px: int, pixel_mm: float, fill: float, seed: int) -> None:
        self.pixel_mm = pixel_mm
        self.width_mm, self.height_mm = width_px * pixel_mm, height_px * pixel_mm
        self.values = np.full((height_px, width_px), fill, np.float32)
        self.rng = np.random.default_rng(seed)

    def shape(
        self,
        x: float,
        y: float,
        rx: float,
        ry: float,
        *,
        angle: float = 0.0,
        wobble: tuple[float, int, int] = (0.0, 0, 1),
    ) -> Patch:
        """Return an ellipse with centre and radii in mm, turned by `angle` degrees.

        wobble: (amplitude, count, sharpness): the outline's radius grows by amplitude * max(0, cos(count * theta)) ** sharpness;
        sharp ones are spicules, blunt ones lobules.
        """
        reach = max(rx, ry) * (1 + abs(wobble[0])) + 2 * self.pixel_mm
        rows = self._span(y, reach, self.values.shape[0])
        columns = self._span(x, reach, self.values.shape[1])
        yy = (np.arange(rows.start, rows.stop)[:, None] + 0.5) * self.pixel_mm - y
        xx = (np.arange(columns.start, columns.stop)[None, :] + 0.5) * self.pixel_mm - x
        turn = np.deg2rad(angle)
        u, v = xx * np.cos(turn) + yy * np.sin(turn), -xx * np.sin(turn) + yy * np.cos(turn)
        f = np.sqrt((u / rx) ** 2 + (v / ry) ** 2) + 1e-9
        slope = np.sqrt((u / rx**2) ** 2 + (v / ry**2) ** 2) / f + 1e-9
        if wobble[0]:
            wave = np.maximum(0.0, np.cos(wobble[1] * np.arctan2(v, u))) ** wobble[2]
            f = f / (1 + wobble[0] * wave)
        distance_mm = (f - 1) / slope
        return Patch(rows, columns, np.clip(0.5 - distance_mm / self.pixel_mm, 0.0, 1.0))

    def line(self, x1: float, y1: float, x2: float, y2: float, width: float) -> Patch:
        """Return a straight band of `width` mm."""
        length = float(np.hypot(x2 - x1, y2 - y1))
        reach = length / 2 + width + 2 * self.pixel_mm
        x, y = (x1 + x2) / 2, (y1 + y2) / 2
        rows, columns = self._span(y, reach, self.values.shape[0]), self._span(x, reach, self.values.shape[1])
        yy = (np.arange(rows.start, rows.stop)[:, None] + 0.5) * self.pixel_mm - y
        xx = (np.arange(columns.start, columns.stop)[None, :] + 0.5) * self.pixel_mm - x
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        along, across = np.abs(xx * ux + yy * uy), np.abs(-xx * uy + yy * ux)
        distance_mm = np.maximum(along - length / 2, across - width / 2)
        return Patch(rows, columns, np.clip(0.5 - distance_mm / self.pixel_mm, 0.0, 1.0))

    def paint(self, patch: Patch, value: float, within: Patch | None = None, opacity: float = 1.0) -> None:
        """Lay a value over the canvas where the patch covers it, kept inside `within` where given."""
        alpha = patch.alpha * opacity
        if within is not None:
            full = np.zeros(self.values.shape, np.float32)
            full[within.rows, within.columns] = within.alpha
            alpha = alpha * full[patch.rows, patch.columns]
        part = self.values[patch.rows, patch.columns]
        part += alpha * (value - part)

    def add(self, patch: Patch, amount: float, within: Patch | None = None) -> None:
        """Raise or lower the values where the patch covers them."""
        alpha = patch.alpha
        if within is not None:
            full = np.zeros(self.values.shape, np.float32)
            full[within.rows, within.columns] = within.alpha
            alpha = alpha * full[patch.rows, patch.columns]
        self.values[patch.rows, patch.columns] += (alpha * amount).astype(np.float32)

    def texture(self, patch: Patch, amplitude: float, grain_mm: float) -> None:
        """Add smooth noise of standard deviation `amplitude` inside a patch."""
        height, width = patch.alpha.shape
        noise = smooth_noise(self.rng, (height, width), grain_mm / self.pixel_mm)
        self.values[patch.rows, patch.columns] += (patch.alpha * amplitude * noise).astype(np.float32)

    def finish(self, low: float, high: float, noise: float, blur_px: float = 0.6) -> Array:
        """Add noise, blur as a scanner does, and return uint8 pixels of the window low to high."""
        noisy = self.values + noise * self.rng.standard_normal(self.values.shape).astype(np.float32)
        blurred = fourier_blur(noisy, blur_px)
        return np.clip(np.rint((blurred - low) / (high - low) * 255), 0, 255).astype(np.uint8)

    def _span(self, centre_mm: float, reach_mm: float, size: int) -> slice:
        first = int(np.clip(np.floor((centre_mm - reach_mm) / self.pixel_mm), 0, size))
        last = int(np.clip(np.ceil((centre_mm + reach_mm) / self.pixel_mm), first, size))
        return slice(first, last)


def fourier_blur(values: Array, sigma_px: float) -> Array:
    """Return values convolved with a Gaussian; edges are mirrored."""
    pad = int(np.ceil(4 * sigma_px)) + 1
    padded = np.pad(values, pad, mode="reflect")
    fy, fx = np.fft.fftfreq(padded.shape[0])[:, None], np.fft.rfftfreq(padded.shape[1])[None, :]
    kernel = np.exp(-2 * (np.pi * sigma_px) ** 2 * (fx**2 + fy**2))
    blurred = np.fft.irfft2(np.fft.rfft2(padded) * kernel, s=padded.shape)
    return blurred[pad:-pad, pad:-pad]


def smooth_noise(rng: np.random.Generator, shape: tuple[int, int], grain_px: float) -> Array:
    """Return noise of mean 0 and standard deviation 1 whose grains are about `grain_px` wide."""
    fy, fx = np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1])[None, :]
    kernel = np.exp(-2 * (np.pi * grain_px / 2) ** 2 * (fx**2 + fy**2))
    noise = np.fft.irfft2(np.fft.rfft2(rng.standard_normal(shape)) * kernel, s=shape)
    return noise / (noise.std() + 1e-9)


WOBBLES = {"smooth": (0.0, 0, 1), "lobulated": (0.32, 5, 1), "spiculated": (0.75, 9, 8)}


def paint_lesion(canvas: Canvas, lesion: Mapping[str, Any], dx: float, dy: float) -> None:
    """Draw a lesion: halo, body and core, each an ellipse with the lesion's outline.

    lesion: x, y (mm), long_mm, short_mm, angle, value; optional margin (a key of WOBBLES), rim_mm and rim (a capsule, part of the
    diameters), core_mm and core (mean diameter and value of a denser centre).
    """
    x, y, angle = lesion["x"] + dx, lesion["y"] + dy, lesion.get("angle", 0.0)
    rx, ry = lesion["long_mm"] / 2, lesion["short_mm"] / 2
    wobble = WOBBLES[lesion.get("margin", "smooth")]
    if lesion.get("rim_mm"):
        canvas.paint(canvas.shape(x, y, rx, ry, angle=angle, wobble=wobble), lesion["rim"])
        rx, ry = rx - lesion["rim_mm"], ry - lesion["rim_mm"]
    canvas.paint(canvas.shape(x, y, rx, ry, angle=angle, wobble=wobble), lesion["value"])
    if lesion.get("core_mm"):
        core = lesion["core_mm"] / 2
        canvas.paint(canvas.shape(x, y, core, core), lesion["core"])
