"""Measures any image's quality and compares two."""

import numpy as np
import numpy.typing as npt

GREY = (0.2126, 0.7152, 0.0722)
"""Weights of red, green and blue. Source: ITU-R BT.709."""


def grey(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """Return brightness, 0 to 255, of a grey or colour image."""
    return pixels.astype(float) if pixels.ndim == 2 else pixels.astype(float) @ np.array(GREY)


def quality(pixels: npt.NDArray[np.uint8], mm_per_px: float) -> dict[str, float]:
    """Return brightness (mean), contrast, noise and sharpness.

    contrast: (p98 - p2) / (p98 + p2), Michelson's ratio on percentiles. noise: Immerkaer's estimate (Comput Vis Image Underst
    1996;64:300). sharpness: 99th percentile of the step between neighbouring columns or rows.
    """
    image = grey(pixels)
    low, high = np.percentile(image, (2, 98))
    centre = image[1:-1, 1:-1]
    around = image[:-2, 1:-1] + image[2:, 1:-1] + image[1:-1, :-2] + image[1:-1, 2:]
    corners = image[:-2, :-2] + image[:-2, 2:] + image[2:, :-2] + image[2:, 2:]
    noise = np.sqrt(np.pi / 2) * np.abs(4 * centre - 2 * around + corners).mean() / 6
    steps = np.concatenate([np.abs(np.diff(image, axis=0)).ravel(), np.abs(np.diff(image, axis=1)).ravel()])
    return {
        "brightness": float(image.mean()),
        "contrast": float((high - low) / max(high + low, 1.0)),
        "noise": float(noise),
        "sharpness": float(np.percentile(steps, 99)),
    }


def enhance(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the image with its 2nd and 98th percentile of brightness stretched to 0 and 255."""
    low, high = np.percentile(grey(pixels), (2, 98))
    stretched = (pixels.astype(float) - low) * (255.0 / max(high - low, 1.0))
    return np.clip(np.rint(stretched), 0, 255).astype(np.uint8)
