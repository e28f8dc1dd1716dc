"""Measures a frontal chest film: heart and thorax, pleura, rounded opacities."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from healthgym.errors import ToolError

from .libraries import ndimage, skimage

Mask = npt.NDArray[np.bool_]
SMALLEST_LUNG_PX = 900
SMALLEST_OPACITY_PX = 12


@dataclass(frozen=True)
class Lungs:
    """Both lung fields: masks with holes filled, by side of the patient; smoothed grey levels; the level between."""

    right: Mask
    left: Mask
    opacities: Mask
    smooth: npt.NDArray[np.float64]
    level: float


def find_lungs(pixels: npt.NDArray[np.uint8]) -> Lungs:
    """Segment the lungs. Raises ToolError when there are not two dark fields inside the body."""
    image = ndimage()
    smooth = image.gaussian_filter(pixels.astype(float), 1.2)
    level = float(skimage("filters").threshold_otsu(smooth))
    labels, count = image.label(smooth < level)
    border = np.unique(np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]]))
    sizes = image.sum_labels(np.ones_like(smooth), labels, np.arange(1, count + 1)) if count else np.array([])
    big = [i for i in np.argsort(-sizes)[:6] + 1 if i not in border and sizes[i - 1] >= SMALLEST_LUNG_PX][:2]
    if len(big) < 2:
        raise ToolError("Two lung fields could not be told from the rest of this image. View it instead.")
    fields = sorted((labels == i for i in big), key=lambda mask: float(np.nonzero(mask)[1].mean()))
    filled = [image.binary_fill_holes(mask) for mask in fields]
    holes = (filled[0] & ~fields[0]) | (filled[1] & ~fields[1])
    return Lungs(filled[0], filled[1], holes, smooth, level)


def cardiothoracic(pixels: npt.NDArray[np.uint8], mm_per_px: float) -> dict[str, float]:
    """Return heart_mm, thorax_mm and ratio: greatest distances of the heart's borders from the midline, over inner width."""
    lungs = find_lungs(pixels)
    rows = np.nonzero(lungs.right.any(1) & lungs.left.any(1))[0]
    outer_right, inner_right = _edges(lungs.right, rows)
    inner_left, outer_left = _edges(lungs.left, rows)
    upper = slice(len(rows) // 8, len(rows) // 3)
    midline = float(np.median((inner_right[upper] + inner_left[upper]) / 2))
    heart = (rows >= rows[len(rows) // 2]) & (rows <= _dome_row(lungs.right))
    if not heart.any():
        raise ToolError("The heart's borders are hidden on this image. View it instead.")
    # The level lies nearer to lung than to heart, which puts each border half a pixel outwards: one pixel more to take off.
    heart_px = np.percentile(midline - inner_right[heart], 80) + np.percentile(inner_left[heart] - midline, 80) - 2
    thorax_px = (outer_left - outer_right).max() + 1
    return {
        "heart_mm": float(heart_px * mm_per_px),
        "thorax_mm": float(thorax_px * mm_per_px),
        "ratio": float(heart_px / thorax_px),
    }


def pleura(pixels: npt.NDArray[np.uint8], mm_per_px: float) -> dict[str, dict[str, float]]:
    """Return by side: free_air_mm, the rim at mid-lung, and fluid_mm, by which the angle is raised over the other side."""
    lungs = find_lungs(pixels)
    angles = {"right": _angle_row(lungs.right, -1), "left": _angle_row(lungs.left, 1)}
    lowest = max(angles.values())
    return {
        side: {
            "free_air_mm": _rim_px(lungs, mask, outwards) * mm_per_px,
            "fluid_mm": float(lowest - angles[side]) * mm_per_px,
        }
        for side, mask, outwards in (("right", lungs.right, -1), ("left", lungs.left, 1))
    }


def opacities(pixels: npt.NDArray[np.uint8], mm_per_px: float) -> list[dict[str, float | str]]:
    """Return rounded opacities surrounded by lung, largest first: side, zone, diameter_mm, at their half-height."""
    lungs = find_lungs(pixels)
    image = ndimage()
    labels, count = image.label(image.binary_opening(lungs.opacities))
    found: list[dict[str, float | str]] = []
    for index in range(1, count + 1):
        mask = labels == index
        if mask.sum() < SMALLEST_OPACITY_PX:
            continue
        around = image.binary_dilation(mask, iterations=7) & ~image.binary_dilation(mask, iterations=4)
        inside = lungs.smooth[image.binary_erosion(mask) if mask.sum() > 40 else mask]
        half = (
            float(np.percentile(inside, 80)) + float(np.median(lungs.smooth[around & (lungs.smooth < lungs.level)]))
        ) / 2
        region = image.binary_dilation(mask, iterations=4) & (lungs.smooth > half)
        row, column = image.center_of_mass(mask)
        in_left = bool(lungs.left[int(row), int(column)])
        field = np.nonzero((lungs.left if in_left else lungs.right).any(1))[0]
        zone = ("upper", "middle", "lower")[min(2, int(3 * (row - field[0]) / (field[-1] - field[0] + 1)))]
        diameter = 2 * float(np.sqrt(region.sum() / np.pi)) * mm_per_px
        found.append({"side": "left" if in_left else "right", "zone": zone, "diameter_mm": diameter})
    return sorted(found, key=lambda item: -float(item["diameter_mm"]))


def _edges(mask: Mask, rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return first and last column of the mask in each row."""
    part = mask[rows]
    return part.argmax(1), part.shape[1] - 1 - part[:, ::-1].argmax(1)


def _dome_row(right: Mask) -> float:
    """Return the row of the right diaphragm's dome, from the columns that the heart does not cover."""
    columns = np.nonzero(right.any(0))[0]
    part = right[:, columns[int(0.25 * len(columns)) : int(0.5 * len(columns))]]
    bottoms = part.shape[0] - 1 - part[::-1].argmax(0)
    return float(np.percentile(bottoms, 20)) - 3


def _angle_row(mask: Mask, outwards: int) -> float:
    """Return the lowest row of a lung along its outer wall."""
    columns = np.nonzero(mask.any(0))[0]
    outer = columns[1:3] if outwards < 0 else columns[-3:-1]
    part = mask[:, outer]
    return float(np.median(part.shape[0] - 1 - part[::-1].argmax(0)))


def _rim_px(lungs: Lungs, mask: Mask, outwards: int) -> float:
    """Return the width of the air between wall and lung at mid-height; 0 when the dark runs nowhere from the wall."""
    rows = np.nonzero(mask.any(1))[0]
    middle = int((rows[0] + rows[-1]) / 2)
    dark = 0.58 * max(
        float(np.median(lungs.smooth[side & (lungs.smooth < lungs.level)])) for side in (lungs.right, lungs.left)
    )
    widths = []
    for row in range(middle - 12, middle + 13):
        columns = np.nonzero(mask[row])[0]
        if not len(columns):
            continue
        line = lungs.smooth[row, columns[::-1] if outwards > 0 else columns]
        is_dark = line < dark
        first = int(is_dark[:6].argmax()) if is_dark[:6].any() else -1
        if first < 0:
            widths.append(0)
            continue
        run = is_dark[first:]
        widths.append(first + (int(run.argmin()) if not run.all() else len(run)))
    width = float(np.median(widths)) if widths else 0.0
    return width + 1 if width >= 3 else 0.0
