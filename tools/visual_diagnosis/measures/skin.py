"""Measures dermoscopy of one lesion: outline, asymmetry, border, colours."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from healthgym.errors import ToolError

from .libraries import ndimage, skimage

Mask = npt.NDArray[np.bool_]
COLOUR_NAMES = ("light brown", "dark brown", "black", "blue-grey", "red", "white")
PROTOTYPES = np.array(
    [(168, 112, 70), (98, 58, 34), (28, 22, 22), (96, 112, 138), (188, 62, 62), (246, 240, 236)], dtype=float
)
COLOUR_SHARE = 0.025
"""Smallest share of the lesion that counts as a colour."""
ASYMMETRIC_SHARE = 0.05
"""Share of the lesion outside its mirror image from which an axis counts as asymmetric."""
CUT_OFF_MM = 0.25
"""Width of the fading border under which it counts as cut off."""


@dataclass(frozen=True)
class Lesion:
    """The segmented lesion: mask, contrast to skin over the lesion's own (about 1 inside), and centroid."""

    mask: Mask
    contrast: npt.NDArray[np.float64]
    centre: tuple[float, float]


def segment(pixels: npt.NDArray[np.uint8], mm_per_px: float) -> Lesion:
    """Segment the lesion at half of its contrast to the skin around. Raises ToolError when nothing stands out."""
    if pixels.ndim != 3:
        raise ToolError("This image has no colour; a lesion cannot be told from skin on it.")
    image = ndimage()
    colours = np.stack([image.gaussian_filter(pixels[..., i].astype(float), 1.0) for i in range(3)], axis=-1)
    border = np.concatenate([colours[:8].reshape(-1, 3), colours[-8:].reshape(-1, 3), colours[:, :8].reshape(-1, 3)])
    difference = np.linalg.norm(colours - np.median(border, axis=0), axis=-1)
    first = _largest(difference > skimage("filters").threshold_otsu(difference))
    if first.sum() < 200:
        raise ToolError("No lesion stands out from the skin on this image. View it instead.")
    edge = first & ~image.binary_erosion(first, iterations=14)
    inner = first & ~edge if (first & ~edge).sum() > 200 else first
    ground = float(np.percentile(difference[inner & image.binary_dilation(edge, iterations=8)], 50))
    contrast = difference / ground
    mask = _largest(contrast > 0.5)
    rows, columns = np.nonzero(mask)
    return Lesion(mask, contrast, (float(rows.mean()), float(columns.mean())))


def size(pixels: npt.NDArray[np.uint8], mm_per_px: float) -> dict[str, float]:
    """Return area_mm2, longest_mm (greatest distance across) and equal_mm (diameter of a disc of equal area)."""
    lesion = segment(pixels, mm_per_px)
    region = skimage("measure").regionprops(lesion.mask.astype(int))[0]
    return {
        "area_mm2": float(region.area) * mm_per_px**2,
        "longest_mm": float(region.feret_diameter_max) * mm_per_px,
        "equal_mm": 2 * float(np.sqrt(region.area / np.pi)) * mm_per_px,
    }


def asymmetry(pixels: npt.NDArray[np.uint8], mm_per_px: float) -> tuple[float, float]:
    """Return the shares of the lesion outside its mirror image about two crossing axes, placed where their sum is least."""
    lesion = segment(pixels, mm_per_px)
    mask = lesion.mask[::2, ::2]
    cy, cx = lesion.centre[0] / 2, lesion.centre[1] / 2
    y, x = (places.astype(np.float64) for places in np.nonzero(mask))
    best = (1.0, 1.0)
    for angle in np.arange(0, np.pi / 2, np.pi / 48):
        pair = (
            _outside(mask, y - cy, x - cx, cy, cx, angle),
            _outside(mask, y - cy, x - cx, cy, cx, angle + np.pi / 2),
        )
        best = min(best, pair, key=sum)
    return min(best), max(best)


def border(pixels: npt.NDArray[np.uint8], mm_per_px: float) -> tuple[float, ...]:
    """Return the width of the fading border in mm in each eighth, counted clockwise from the right."""
    lesion = segment(pixels, mm_per_px)
    widths = []
    for eighth in range(8):
        rays = [(eighth + 0.5) * np.pi / 4 + shift for shift in np.linspace(-0.24, 0.24, 9)]
        widths.append(float(np.median([_fade_px(lesion, ray) for ray in rays])) * mm_per_px)
    return tuple(widths)


def colours(pixels: npt.NDArray[np.uint8], mm_per_px: float) -> dict[str, float]:
    """Return the share of the lesion's inside by colour, of those that cover enough of it."""
    lesion = segment(pixels, mm_per_px)
    image = ndimage()
    inside = image.binary_erosion(lesion.mask, iterations=13)
    inside = inside if inside.sum() > 200 else lesion.mask
    smooth = np.stack([image.median_filter(pixels[..., i], size=5).astype(float) for i in range(3)], axis=-1)[inside]
    nearest = np.argmin(((smooth[:, None, :] - PROTOTYPES[None]) ** 2).sum(-1), axis=1)
    shares = np.bincount(nearest, minlength=len(COLOUR_NAMES)) / len(nearest)
    return {name: float(share) for name, share in zip(COLOUR_NAMES, shares, strict=True) if share >= COLOUR_SHARE}


def _largest(mask: Mask) -> Mask:
    image = ndimage()
    labels, count = image.label(image.binary_opening(mask, iterations=2))
    if not count:
        return np.zeros_like(mask)
    sizes = image.sum_labels(mask, labels, np.arange(1, count + 1))
    filled: Mask = image.binary_fill_holes(labels == 1 + int(np.argmax(sizes)))
    return filled


def _outside(
    mask: Mask, dy: npt.NDArray[np.floating], dx: npt.NDArray[np.floating], cy: float, cx: float, angle: float
) -> float:
    """Return the share of pixels whose mirror image about the axis at `angle` lies outside the mask."""
    cos, sin = np.cos(2 * angle), np.sin(2 * angle)
    rows = np.rint(cy - cos * dy + sin * dx).astype(int)
    columns = np.rint(cx + sin * dy + cos * dx).astype(int)
    within = (rows >= 0) & (rows < mask.shape[0]) & (columns >= 0) & (columns < mask.shape[1])
    hit = np.zeros(len(rows), dtype=bool)
    hit[within] = mask[rows[within], columns[within]]
    return float(1 - hit.mean())


def _fade_px(lesion: Lesion, angle: float) -> float:
    """Return the distance along a ray over which the contrast falls from three quarters to one quarter."""
    reach = np.arange(0, max(lesion.mask.shape), 0.5)
    rows = lesion.centre[0] + reach * np.sin(angle)
    columns = lesion.centre[1] + reach * np.cos(angle)
    inside = (rows > 0) & (rows < lesion.mask.shape[0] - 1) & (columns > 0) & (columns < lesion.mask.shape[1] - 1)
    line = ndimage().map_coordinates(lesion.contrast, [rows[inside], columns[inside]], order=1)
    crossing = int(np.nonzero(line > 0.5)[0][-1])
    outside = crossing + int((line[crossing:] < 0.25).argmax()) if (line[crossing:] < 0.25).any() else len(line)
    above = np.nonzero(line[: crossing + 1] >= 0.75)[0]
    inner = int(above[-1]) if len(above) else 0
    return 0.5 * (outside - inner)
