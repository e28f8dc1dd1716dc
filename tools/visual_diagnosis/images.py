"""From what a chart says of an image to its pixels, and from pixels to measurements; both kept."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from healthgym.errors import ContentError, MissingDependency
from healthgym.knowledge_base.reading import read_yaml
from healthgym.toolkit import Picture

from .phantoms.canvas import Pixels

FOLDER = Path(__file__).parent
PHANTOMS: Mapping[str, str] = {
    "chest_film": "chest",
    "skin_lesion": "skin",
    "fundus": "fundus",
    "blood_film": "blood",
    "ecg_strip": "ecg",
    "histology": "histology",
}
"""Module that draws each kind of image."""
KIND_NAMES: Mapping[str, str] = {
    "chest_film": "chest film",
    "skin_lesion": "dermoscopy of a skin lesion",
    "fundus": "colour photograph of the fundus",
    "blood_film": "blood film, Romanowsky stain",
    "ecg_strip": "ECG rhythm strip",
    "histology": "histology field",
    "photograph": "image of a user's own set",
}


@dataclass(frozen=True)
class Image:
    """One image of a chart.

    key: JSON of its source: {"kind", "phantom"} or {"kind", "file"}; what pixels and measurements are kept by.
    """

    id: str
    patient_id: str
    kind: str
    view: str
    taken: str
    mm_per_px: float
    key: str

    @property
    def pixels(self) -> Pixels:
        """Grey (h, w) or colour (h, w, 3), uint8."""
        return pixels_of(self.key)

    @property
    def caption(self) -> str:
        """Kind, view, date and scale; never what is to be found."""
        height, width = self.pixels.shape[:2]
        scale = f"{self.mm_per_px:g} mm/px" if self.mm_per_px >= 0.01 else f"{1000 * self.mm_per_px:g} um/px"
        view = f", {self.view}" if self.view else ""
        return f"{KIND_NAMES[self.kind]}{view}, {self.taken}, {width} x {height} px" + (
            f", {scale}" if self.mm_per_px > 0 else ""
        )

    @property
    def picture(self) -> Picture:
        """The image as an agent may look at it."""
        return Picture(self.id, self.pixels, self.caption)

    def measure(self, function: Callable[..., Any], **settings: Any) -> Any:
        """Return what `function(pixels, mm_per_px, **settings)` measures; each result is kept. Nothing else is passed on."""
        return _measured(function, self.key, self.mm_per_px, tuple(sorted(settings.items())))


def image_entry(
    kind: str, phantom: Mapping[str, Any], *, view: str = "", taken: str = "today", mm_per_px: float
) -> dict[str, Any]:
    """Return what a chart keeps of one phantom, under `Chart.extra["images"]`."""
    return {
        "kind": kind,
        "view": view,
        "taken": taken,
        "mm_per_px": mm_per_px,
        "source": {"kind": kind, "phantom": dict(phantom)},
    }


def image_of(patient_id: str, image_id: str, entry: Mapping[str, Any]) -> Image:
    """Return the image that a chart's entry describes."""
    key = json.dumps(entry["source"], sort_keys=True)
    return Image(image_id, patient_id, entry["kind"], entry["view"], entry["taken"], float(entry["mm_per_px"]), key)


@lru_cache(maxsize=160)
def pixels_of(key: str) -> Pixels:
    """Draw a phantom, or read a file of a user's own."""
    source = json.loads(key)
    if "file" in source:
        return read_file(Path(source["file"]))
    module = import_module(f".phantoms.{PHANTOMS[source['kind']]}", __package__)
    return module.draw(source["phantom"])  # type: ignore[no-any-return]


def read_file(path: Path) -> Pixels:
    """Return the pixels of an image file, grey or RGB.

    Raises:
        MissingDependency: Pillow is not installed.
        ContentError: The file is no image that can be read.
    """
    try:
        from PIL import Image as Files
        from PIL import UnidentifiedImageError
    except ImportError:
        raise MissingDependency.extra("Reading image files", "images") from None
    try:
        with Files.open(path) as opened:
            pixels = np.asarray(opened.convert("L" if opened.mode in ("1", "L", "I;16", "I", "F") else "RGB"))
    except (UnidentifiedImageError, OSError) as error:
        raise ContentError(f"{path}: cannot be read as an image ({error}); give a PNG, JPEG or TIFF file") from None
    return pixels.astype(np.uint8)


@lru_cache(maxsize=8192)
def _measured(function: Callable[..., Any], key: str, mm_per_px: float, settings: tuple[tuple[str, Any], ...]) -> Any:
    return function(pixels_of(key), mm_per_px, **dict(settings))


@lru_cache(maxsize=1)
def prompts() -> dict[str, dict[str, list[str]]]:
    """Return the wordings by family and split."""
    return dict(read_yaml(FOLDER / "prompts.yaml"))
