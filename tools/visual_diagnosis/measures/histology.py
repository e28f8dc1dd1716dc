"""Measures histology fields: stained nuclei, their sizes, and eosinophils."""

import numpy as np
import numpy.typing as npt

from healthgym.errors import ToolError

from .libraries import ndimage, skimage

SMALLEST_UM2 = 8.0


def _colours(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    if pixels.ndim != 3:
        raise ToolError("This image has no colour; stained cells cannot be told apart on it.")
    return np.stack([ndimage().gaussian_filter(pixels[..., i].astype(float), 0.8) for i in range(3)], axis=-1)


def nuclei(pixels: npt.NDArray[np.uint8], mm_per_px: float) -> dict[str, float]:
    """Return numbers of nuclei stained blue or purple (negative) and brown (positive), mean area_um2 and its spread."""
    image, um2 = ndimage(), (1000 * mm_per_px) ** 2
    colours = _colours(pixels)
    stained = (colours[..., 0] < 172) & (colours[..., 1] < 165)
    cores, _ = image.label(image.binary_erosion(stained, iterations=2 if um2 < 1 else 0) if um2 < 1 else stained)
    negative = positive = 0
    areas = []
    for region in skimage("measure").regionprops(cores):
        if region.area * um2 < SMALLEST_UM2:
            continue
        rows, columns = region.coords[:, 0], region.coords[:, 1]
        mean = colours[rows, columns].mean(0)
        positive += bool(mean[0] > mean[2])
        negative += bool(mean[0] <= mean[2])
        grown = np.sqrt(region.area / np.pi) + (2 if um2 < 1 else 0)
        areas.append(np.pi * grown**2 * um2)
    return {
        "positive": positive,
        "negative": negative,
        "area_um2": float(np.mean(areas)) if areas else 0.0,
        "area_spread": float(np.std(areas) / np.mean(areas)) if areas else 0.0,
    }


def eosinophils(pixels: npt.NDArray[np.uint8], mm_per_px: float) -> int:
    """Return the number of cells with bright red cytoplasm."""
    image, um2 = ndimage(), (1000 * mm_per_px) ** 2
    colours = _colours(pixels)
    bright = (colours[..., 0] - colours[..., 1] > 90) & (colours[..., 0] > 170)
    labels, count = image.label(image.binary_fill_holes(image.binary_closing(bright)))
    areas = image.sum_labels(np.ones_like(labels), labels, np.arange(1, count + 1)) * um2 if count else np.array([])
    return int((areas >= 45.0).sum())
