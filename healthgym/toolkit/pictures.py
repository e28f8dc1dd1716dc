"""Pictures in what a tool shows: pixels for vision models, words for all."""

import base64
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from healthgym.errors import ContentError


@dataclass(frozen=True, slots=True)
class Picture:
    """One image that an agent may look at.

    id: as the tools call it.
    pixels: uint8, (height, width) grey or (height, width, 3) red, green, blue.
    caption: what a reader without eyes is told: kind, view, size in pixels and mm. Never what is to be found.
    """

    id: str
    pixels: Any
    caption: str

    def __post_init__(self) -> None:
        pixels = self.pixels
        if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or pixels.shape[2:] not in ((), (3,)):
            arrived = f"{pixels.dtype} {pixels.shape}" if isinstance(pixels, np.ndarray) else type(pixels).__name__
            raise ContentError(f"picture {self.id!r}: pixels must be uint8 of (h, w) or (h, w, 3), got {arrived}")

    @property
    def text(self) -> str:
        """The caption as it stands in an observation."""
        return f"[image {self.id}: {self.caption}]"

    @property
    def block(self) -> dict[str, Any]:
        """The image as a content block with a data URL, as chat templates of vision models take it."""
        return {"type": "image", "url": f"data:image/png;base64,{base64.b64encode(png(self.pixels)).decode()}"}


@dataclass(frozen=True, slots=True)
class Shown:
    """What a tool returns to show pictures beside its text."""

    text: str
    pictures: tuple[Picture, ...]

    def __str__(self) -> str:
        return "\n".join([self.text, *(picture.text for picture in self.pictures)]).strip()


def png(pixels: np.ndarray) -> bytes:
    """Return uint8 pixels, (h, w) or (h, w, 3), as a PNG file; the same pixels give the same bytes.

    Source: PNG specification, third edition (W3C 2025): signature, IHDR, IDAT with filter 0, IEND.
    """
    height, width = pixels.shape[:2]
    rows = np.ascontiguousarray(pixels).reshape(height, -1)
    data = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1).tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if pixels.ndim == 3 else 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(data, 6)), (b"IEND", b""))
    body = b"".join(struct.pack(">I", len(c)) + n + c + struct.pack(">I", zlib.crc32(n + c)) for n, c in chunks)
    return b"\x89PNG\r\n\x1a\n" + body
