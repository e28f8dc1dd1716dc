"""Images of a chart: drawn when first looked at, then kept."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from .canvas import Canvas
from .phantom_chest import draw_film, draw_lung_ct
from .phantom_head import draw_head
from .phantom_organs import draw_breast, draw_kidney, draw_liver, draw_thyroid


@dataclass(frozen=True)
class Kind:
    """How images of one kind are drawn and read: window (low, high), unit, noise before blurring, and what is drawn."""

    draw: Callable[[Mapping[str, Any]], Canvas]
    low: float
    high: float
    unit: str
    noise: float


KINDS: Mapping[str, Kind] = {
    "chest_film": Kind(draw_film, 0, 255, "grey", 5),
    "lung_ct": Kind(draw_lung_ct, -1000, 400, "HU", 40),
    "ct_head": Kind(draw_head, -20, 100, "HU", 3.5),
    "mammogram": Kind(draw_breast, 0, 255, "grey", 4),
    "liver_ct": Kind(draw_liver, -120, 320, "HU", 9),
    "thyroid_us": Kind(draw_thyroid, 0, 255, "grey", 9),
    "renal_ct": Kind(draw_kidney, -120, 260, "HU", 9),
}


@dataclass(frozen=True)
class Image:
    """A drawn image.

    pixels: uint8 (height, width). values: the same in the kind's unit, as the header's window tells.
    """

    kind: str
    pixels: np.ndarray
    values: np.ndarray
    pixel_mm: float
    unit: str
    title: str
    tags: Mapping[str, Any]
    """What the header tells: side, view, level, phase."""

    @property
    def caption(self) -> str:
        """Kind, size and scale: what a reader without eyes is told."""
        height, width = self.pixels.shape
        kind = KINDS[self.kind]
        return (
            f"{self.title}, {width * self.pixel_mm:g} x {height * self.pixel_mm:g} mm, {self.pixel_mm:g} mm/px, "
            f"grey 0-255 = {kind.low:g} to {kind.high:g} {self.unit}"
        )


def draw_image(spec: Mapping[str, Any]) -> Image:
    """Return the image of a chart's description."""
    return _draw(json.dumps(spec, sort_keys=True))


HEADER = ("side", "view", "level", "phase")


@lru_cache(maxsize=128)
def _draw(text: str) -> Image:
    spec = json.loads(text)
    kind = KINDS[spec["kind"]]
    canvas = kind.draw(spec)
    pixels = canvas.finish(kind.low, kind.high, kind.noise)
    values = kind.low + pixels.astype(np.float32) / 255 * (kind.high - kind.low)
    tags = {name: spec[name] for name in HEADER if name in spec}
    return Image(spec["kind"], pixels, values, canvas.pixel_mm, kind.unit, spec["title"], tags)
