"""Images of a dataset as pictures for a message: eight bits, grey or colour, upright and bounded in size."""

import io
import warnings
from typing import Any

import numpy as np

from healthgym.errors import ContentError, MissingDependency
from healthgym.toolkit import Picture

MAX_SIDE = 1024
"""Longest side in pixels that is sent; larger images are scaled down, smaller ones never up."""
MAX_PIXELS = 400_000_000
"""Images beyond this are refused: decoding them could take the machine's memory."""


def read_picture(data: bytes, name: str, *, max_side: int = MAX_SIDE) -> Picture:
    """Return an image file as a picture.

    Sixteen-bit, 32-bit and floating-point images are stretched linearly from their least to their greatest value.
    Transparency is laid over black. Of several frames the first is taken. A camera's orientation mark is followed.

    Args:
        data: The file.
        name: Of the file, for messages.
        max_side: Longest side in pixels; larger images are scaled down.

    Raises:
        ContentError: The data is empty, DICOM, no image, damaged or beyond `MAX_PIXELS`; says which.
        MissingDependency: Pillow is missing.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise MissingDependency.extra("Reading images", "images") from error
    if not data:
        raise ContentError(f"image {name} is empty")
    if data[128:132] == b"DICM":
        raise ContentError(
            f"image {name} is DICOM, which is not read: its grey levels need a window. Export it as PNG with the window "
            "that its reader used"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the bound below is ours
            image: Any = Image.open(io.BytesIO(data))
            if image.width * image.height > MAX_PIXELS:
                raise ContentError(f"image {name} has {image.width} x {image.height} pixels, more than {MAX_PIXELS:,}")
            image.draft(None, (max_side, max_side))  # lets JPEG decode at a fraction of its size
            image.load()
            image = ImageOps.exif_transpose(image)
    except Image.DecompressionBombError as error:
        raise ContentError(f"image {name} is too large to be decoded: {error}") from error
    except (OSError, SyntaxError, ValueError) as error:
        raise ContentError(f"image {name} is damaged or of an unknown format: {error}") from error
    image = _eight_bits(image)
    if max(image.size) > max_side:
        image.thumbnail((max_side, max_side), Image.Resampling.LANCZOS)
    return Picture(name, np.asarray(image, dtype=np.uint8).copy(), "")


def _eight_bits(image: Any) -> Any:
    """Return the image in mode L or RGB."""
    from PIL import Image

    if image.mode.startswith("I") or image.mode == "F":
        return Image.fromarray(_stretched(np.asarray(image, dtype=np.float64)))
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        over = Image.new("RGBA", image.size, (0, 0, 0, 255))
        return Image.alpha_composite(over, image.convert("RGBA")).convert("RGB")
    if image.mode in ("L", "1"):
        return image.convert("L")
    return image.convert("RGB")


def _stretched(values: np.ndarray) -> np.ndarray:
    """Return values, (height, width), stretched to 0-255; a flat image is black and what is not finite is least."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    if high <= low:
        return np.zeros(values.shape, np.uint8)
    safe = np.where(np.isfinite(values), values, low)
    return np.round((safe - low) / (high - low) * 255).astype(np.uint8)
