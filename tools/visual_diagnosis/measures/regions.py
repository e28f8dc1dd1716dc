"""Measures any image: its brightest and darkest connected regions."""

import numpy as np
import numpy.typing as npt

from .libraries import ndimage
from .quality import grey

TAILS = (("bright", 85.0), ("dark", 15.0))


def regions(pixels: npt.NDArray[np.uint8], mm_per_px: float, each: int = 2) -> list[dict[str, float | str]]:
    """Return the largest regions brighter than the 85th and darker than the 15th percentile, up to `each` of both.

    Each has kind, share (of the image), x and y (centre, shares of width and height) and brightness.
    """
    image = ndimage()
    smooth = image.gaussian_filter(grey(pixels), max(pixels.shape[:2]) / 128)
    found: list[dict[str, float | str]] = []
    for kind, percentile in TAILS:
        limit = np.percentile(smooth, percentile)
        labels, count = image.label(smooth > limit if kind == "bright" else smooth < limit)
        if not count:
            continue
        sizes = image.sum_labels(np.ones_like(smooth), labels, np.arange(1, count + 1))
        for index in np.argsort(-sizes, kind="stable")[:each] + 1:
            row, column = image.center_of_mass(labels == index)
            found.append(
                {
                    "kind": kind,
                    "share": float(sizes[index - 1] / smooth.size),
                    "x": float(column / smooth.shape[1]),
                    "y": float(row / smooth.shape[0]),
                    "brightness": float(smooth[labels == index].mean()),
                }
            )
    return found
