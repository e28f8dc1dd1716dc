"""Measuring on pixels: organ masks, regions that stand out, their axes. Nothing here knows what was drawn."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from healthgym.errors import MissingDependency, ToolError

from .images import Image

MIN_CONTRAST = {
    "chest_film": 34, "lung_ct": 150, "ct_head": 9, "mammogram": 55, "liver_ct": 11, "thyroid_us": 30, "renal_ct": 20,
}  # fmt: skip
"""Smallest difference from its surroundings, in the image's unit, by which a region counts as one."""
MIN_AREA_MM2 = {
    "chest_film": 25, "lung_ct": 9, "ct_head": 25, "mammogram": 1.5, "liver_ct": 30, "thyroid_us": 4, "renal_ct": 30,
}  # fmt: skip
SMOOTHING_PX = {"mammogram": 0.5, "thyroid_us": 2.2, "lung_ct": 0.7, "chest_film": 1.2}
REACH_MM = {
    "chest_film": 55,
    "lung_ct": 30,
    "ct_head": 60,
    "mammogram": 26,
    "liver_ct": 42,
    "thyroid_us": 22,
    "renal_ct": 36,
}
"""Half the side of the square in which a region is followed."""
MAX_REGIONS = 12
RAGGED = 0.8
"""Solidity below which an outline has spicules; axes are then those of the body without them."""
SNAP_MM = 1.5
"""How far from the point a region may begin."""
RIMMED = ("liver_ct", "thyroid_us")
"""Kinds in which a rim is looked for: capsules and eggshell calcification."""


@dataclass(frozen=True)
class Region:
    """A connected region that stands out. Lengths in mm; x to the image's right, y down; values in the image's unit."""

    x_mm: float
    y_mm: float
    long_mm: float
    short_mm: float
    width_mm: float
    height_mm: float
    area_mm2: float
    mean: float
    surroundings: float
    solidity: float
    core_mm: float | None = None
    """Mean diameter of a centre that differs from the rest."""
    edge_mm: float = 0.0
    """How far the outline is drawn out: from three quarters to two fifths of the contrast."""
    rim_mm: float = 0.0
    """Thickness of a rim on the other side of the organ's value, such as a capsule; part of the axes."""

    @property
    def mean_mm(self) -> float:
        """Mean of long and short axis."""
        return (self.long_mm + self.short_mm) / 2


def imaging() -> Any:
    """Return skimage's modules. Raises MissingDependency, naming the extra, where it is not installed."""
    try:
        from scipy import ndimage
        from skimage import filters, measure
    except ImportError:
        raise MissingDependency.extra("Measuring on images", "images") from None
    return filters, measure, ndimage


_PREPARED: dict[int, tuple[Image, np.ndarray, np.ndarray]] = {}


def prepare(image: Image) -> tuple[np.ndarray, np.ndarray]:
    """Return (smoothed values, organ mask) of an image, kept while the image is."""
    cached = _PREPARED.get(id(image))
    if cached is None or cached[0] is not image:
        filters, *_ = imaging()
        smooth = filters.gaussian(image.values, SMOOTHING_PX.get(image.kind, 1.0), preserve_range=True)
        if len(_PREPARED) > 64:
            _PREPARED.clear()
        cached = _PREPARED[id(image)] = (image, smooth, organ_mask(image, smooth))
    return cached[1], cached[2]


def organ_mask(image: Image, smooth: np.ndarray) -> np.ndarray:
    """Return where the organ of interest lies, lesions included, found from its values."""
    _, measure, ndimage = imaging()
    kind = image.kind
    if kind == "lung_ct":
        labels = measure.label(smooth < -450)
        edge = set(np.unique(np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]])))
        sizes = [(r.area, r.label) for r in measure.regionprops(labels) if r.label not in edge]
        mask = np.isin(labels, [label for _, label in sorted(sizes)[-2:]])
        return ndimage.binary_erosion(ndimage.binary_fill_holes(mask), iterations=2)
    if kind == "ct_head":
        skull = smooth > 90
        inside = ndimage.binary_fill_holes(_largest(skull, measure)) & ~skull
        return ndimage.binary_erosion(_largest(inside, measure), iterations=3)
    if kind == "chest_film":
        return _film_lungs(image, smooth)
    limit = {"mammogram": 30, "thyroid_us": 112, "liver_ct": 15, "renal_ct": -25}[kind]
    start = smooth
    if kind == "thyroid_us":  # skin lies above the gland
        start = smooth.copy()
        start[: int(11 / image.pixel_mm)] = 0
    mask = ndimage.binary_fill_holes(_largest(start > limit, measure))
    if kind in ("liver_ct", "thyroid_us"):
        mask = ndimage.binary_opening(mask, iterations=round(2 / image.pixel_mm))
        mask = _largest(mask, measure)
    return ndimage.binary_erosion(mask, iterations=3)


def _largest(mask: np.ndarray, measure: Any) -> np.ndarray:
    labels = measure.label(mask)
    if labels.max() == 0:
        return mask
    return labels == 1 + int(np.argmax(np.bincount(labels.ravel())[1:]))


def _film_lungs(image: Image, smooth: np.ndarray) -> np.ndarray:
    """Lung fields by their place in the body's box: opacities hide their own edges."""
    top, bottom, left, right = box(smooth > 80)
    yy, xx = np.mgrid[: smooth.shape[0], : smooth.shape[1]]
    u, v = (xx - left) / (right - left), (yy - top) / (bottom - top)
    right = ((u - 0.29) / 0.135) ** 2 + ((v - 0.385) / 0.285) ** 2 < 1
    left = ((u - 0.71) / 0.135) ** 2 + ((v - 0.385) / 0.285) ** 2 < 1
    heart = (u > 0.5) & (u < 0.775) & (v > 0.45)
    return right | (left & ~heart)


def box(mask: np.ndarray) -> tuple[int, int, int, int]:
    """Return (top, bottom, left, right) of a mask in pixels."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1


def organ_level(image: Image) -> float:
    """Return the organ's usual value: the median inside its mask."""
    smooth, mask = prepare(image)
    return float(np.median(smooth[mask]))


def find_regions(image: Image) -> list[Region]:
    """Return what stands out of the organ, largest first."""
    _, measure, _ = imaging()
    smooth, mask = prepare(image)
    level = float(np.median(smooth[mask]))
    found = []
    for sign in (1, -1):
        labels = measure.label(mask & (sign * (smooth - level) > MIN_CONTRAST[image.kind]))
        for item in measure.regionprops(labels, intensity_image=smooth):
            if item.area * image.pixel_mm**2 >= MIN_AREA_MM2[image.kind]:
                row, column = item.coords[np.argmin(((item.coords - item.centroid) ** 2).sum(axis=1))]
                found.append(_region(item, image, level, (row, column)))
    return sorted(found, key=lambda region: -region.area_mm2)[:MAX_REGIONS]


def _region(
    item: Any,
    image: Image,
    level: float,
    centre: tuple[int, int],
    core_mm: float | None = None,
    rim_mm: float = 0.0,
    edge_mm: float = 0.0,
) -> Region:
    mm = image.pixel_mm
    top, left, bottom, right = item.bbox
    return Region(
        x_mm=(centre[1] + 0.5) * mm,
        y_mm=(centre[0] + 0.5) * mm,
        long_mm=float(item.axis_major_length) * mm + 2 * rim_mm,
        short_mm=float(item.axis_minor_length) * mm + 2 * rim_mm,
        width_mm=(right - left) * mm + 2 * rim_mm,
        height_mm=(bottom - top) * mm + 2 * rim_mm,
        area_mm2=float(item.area) * mm**2,
        mean=float(item.intensity_mean),
        surroundings=level,
        solidity=float(item.solidity),
        core_mm=core_mm,
        rim_mm=rim_mm,
        edge_mm=edge_mm,
    )


def measure_at(image: Image, x_mm: float, y_mm: float) -> Region:
    """Follow the region at a point to half of its contrast and measure it.

    Raises:
        ToolError: The point lies outside the image, or nothing stands out there.
    """
    _, measure, ndimage = imaging()
    row, column = pixel_of(image, x_mm, y_mm)
    smooth, mask = prepare(image)
    level = float(np.median(smooth[mask]))
    reach = int(REACH_MM[image.kind] / image.pixel_mm)
    rows, columns = _window(row, reach, smooth.shape[0]), _window(column, reach, smooth.shape[1])
    crop, inside = smooth[rows, columns], mask[rows, columns]
    seed = (row - rows.start, column - columns.start)
    if not inside[seed]:
        raise ToolError(f"({x_mm:g}, {y_mm:g}) mm lies outside the organ. Use find_regions for places.")
    contrast = MIN_CONTRAST[image.kind]
    seed = _snapped(crop, inside, seed, level, contrast, SNAP_MM / image.pixel_mm)
    centre = float(np.median(crop[max(0, seed[0] - 1) : seed[0] + 2, max(0, seed[1] - 1) : seed[1] + 2]))
    if abs(centre - level) < contrast:
        raise ToolError(f"Nothing stands out at ({x_mm:g}, {y_mm:g}) mm ({centre:.0f} {image.unit}). Use find_regions.")
    shell = _shell(crop, inside, seed, centre, level, contrast)
    outer = centre if shell is None else shell
    sign = 1 if outer > level else -1
    item, body = _component(crop, inside, seed, sign, (outer + level) / 2, measure)
    core_mm = None
    if shell is not None:
        turn = 1 if centre > shell else -1
        core, _ = _component(crop, inside, seed, turn, (centre + shell) / 2, measure)
        core_mm = float((core.axis_major_length + core.axis_minor_length) / 2) * image.pixel_mm
    place = (round(item.centroid[0]) + rows.start, round(item.centroid[1]) + columns.start)
    radii = []
    for share in (0.4, 0.75):
        wide = measure.label(inside & (sign * (crop - level) > share * abs(outer - level)))
        radii.append(float(np.sqrt((wide == wide[seed]).sum() / np.pi)) * image.pixel_mm if wide[seed] else 0.0)
    edge_mm = max(0.0, radii[0] - radii[1])
    filled = ndimage.binary_fill_holes(body)  # bright foci inside are no part of the outline
    solidity = float(measure.regionprops(filled.astype(int))[0].solidity)
    if solidity < RAGGED:
        item = measure.regionprops(_without_spicules(body).astype(int), intensity_image=crop)[0]
    region = _region(item, image, level, place, core_mm, _rim(image, crop, body, sign, level), edge_mm)
    return replace(region, solidity=solidity)


def _snapped(
    crop: np.ndarray, inside: np.ndarray, seed: tuple[int, int], level: float, contrast: float, reach_px: float
) -> tuple[int, int]:
    """Return the seed, or the most distinct pixel close by where the seed itself does not stand out."""
    if abs(crop[seed] - level) >= contrast:
        return seed
    yy, xx = np.ogrid[: crop.shape[0], : crop.shape[1]]
    near = inside & (np.hypot(yy - seed[0], xx - seed[1]) <= reach_px)
    row, column = np.unravel_index(int(np.argmax(np.where(near, np.abs(crop - level), -1.0))), crop.shape)
    return int(row), int(column)


def _shell(
    crop: np.ndarray, inside: np.ndarray, seed: tuple[int, int], centre: float, level: float, contrast: float
) -> float | None:
    """Return the value of a layer between centre and surroundings where the region has one, else None.

    Only lungs are read so: a ground-glass shell around a solid core.
    """
    if contrast != MIN_CONTRAST["lung_ct"]:
        return None
    yy, xx = np.ogrid[: crop.shape[0], : crop.shape[1]]
    distance = np.hypot(yy - seed[0], xx - seed[1])
    last = min(crop.shape) // 2
    medians = [float(np.median(crop[(distance >= r - 0.5) & (distance < r + 0.5)])) for r in range(1, last)]
    for first, second in pairwise(medians):
        if abs(first - second) < contrast and abs(second - centre) > 2 * contrast:
            return second if abs(second - level) > contrast else None
    return None


def _component(
    crop: np.ndarray, inside: np.ndarray, seed: tuple[int, int], sign: int, limit: float, measure: Any
) -> tuple[Any, np.ndarray]:
    labels = measure.label(inside & (sign * (crop - limit) > 0))
    label = labels[seed]
    if label == 0:
        raise ToolError("The region is too small to be measured there. Aim at its middle; see find_regions.")
    body = labels == label
    return measure.regionprops(body.astype(int), intensity_image=crop)[0], body


def _without_spicules(body: np.ndarray) -> np.ndarray:
    """Return the body of a region without what is thinner than about a quarter of its diameter."""
    _, measure, ndimage = imaging()
    steps = max(1, round(0.22 * float(np.sqrt(body.sum() / np.pi))))
    opened = ndimage.binary_opening(body, ndimage.generate_binary_structure(2, 1), iterations=steps)
    return _largest(opened, measure) if opened.any() else body


def _rim(image: Image, crop: np.ndarray, body: np.ndarray, sign: int, level: float) -> float:
    """Return the thickness of a rim around the body that lies on the other side of the organ's value; 0 for none."""
    if image.kind not in RIMMED:
        return 0.0
    *_, ndimage = imaging()
    distance = ndimage.distance_transform_edt(~ndimage.binary_fill_holes(body))
    around = np.array(
        [
            sign * (level - float(np.mean(crop[(distance > step) & (distance <= step + 1)])))
            for step in range(int(4 / image.pixel_mm))
        ]
    )
    if around.max() < 0.8 * MIN_CONTRAST[image.kind]:
        return 0.0
    return float(np.clip(around, 0, None).sum() / around.max()) * image.pixel_mm


def pixel_of(image: Image, x_mm: float, y_mm: float) -> tuple[int, int]:
    """Return (row, column) of a point. Raises ToolError, naming the image's size, when it lies outside."""
    height, width = image.pixels.shape
    row, column = int(y_mm / image.pixel_mm), int(x_mm / image.pixel_mm)
    if not (0 <= row < height and 0 <= column < width):
        raise ToolError(
            f"({x_mm:g}, {y_mm:g}) mm lies outside the image of {width * image.pixel_mm:g} x {height * image.pixel_mm:g} mm."
        )
    return row, column


def _window(centre: int, reach: int, size: int) -> slice:
    return slice(max(0, centre - reach), min(size, centre + reach + 1))
