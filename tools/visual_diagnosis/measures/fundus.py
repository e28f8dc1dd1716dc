"""Measures a colour photograph of the fundus: red and yellow lesions, large bleeding, disc and cup."""

import numpy as np
import numpy.typing as npt

from healthgym.errors import ToolError

from .libraries import ndimage, skimage

Mask = npt.NDArray[np.bool_]
QUADRANTS = ("upper left", "upper right", "lower right", "lower left")
DOT_UNDER_UM = 150.0
"""Width that parts dots from blots; microaneurysms are under 125 um (ETDRS report 10, Ophthalmology 1991;98:786), and the
photograph's blur adds to that."""
LARGE_MM2 = 0.5


def _channels(pixels: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.float64], Mask]:
    """Return the channels as floats and the mask of the photographed field."""
    if pixels.ndim != 3:
        raise ToolError("This image has no colour; lesions of the fundus cannot be told apart on it.")
    colours = pixels.astype(float)
    field = ndimage().binary_erosion(ndimage().gaussian_filter(colours[..., 0], 2.0) > 40, iterations=6)
    return colours, field


def _dark(pixels: npt.NDArray[np.uint8]) -> Mask:
    """Return what is much darker than its surroundings in green: vessels and blood."""
    image = ndimage()
    colours, field = _channels(pixels)
    green = image.gaussian_filter(colours[..., 1], 0.6)
    ground = np.maximum(
        _ground(green), 0.75 * np.median(green[field])
    )  # within a pool of blood the median is dark as well
    dark: Mask = field & (green < 0.7 * ground)
    return dark


def _ground(channel: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the brightness of the retina without small things: a median over about 50 px."""
    image = ndimage()
    small = image.median_filter(channel[::4, ::4], size=13)
    height, width = channel.shape
    whole: npt.NDArray[np.float64] = image.zoom(small, (height / small.shape[0], width / small.shape[1]), order=1)
    return whole


def red_lesions(pixels: npt.NDArray[np.uint8], mm_per_px: float) -> dict[str, object]:
    """Return dots and blots by quadrant of the picture, and large_mm2, the area of blood too large for a blot."""
    image = ndimage()
    dark = _dark(pixels)
    core = image.binary_opening(dark, structure=skimage("morphology").disk(7))
    labels, count = image.label(core)
    areas = [float((labels == i).sum()) * mm_per_px**2 for i in range(1, count + 1)]
    large = sum(area for area in areas if area >= LARGE_MM2)
    dots, blots = [0, 0, 0, 0], [0, 0, 0, 0]
    labels, _ = image.label(dark)
    for region in skimage("measure").regionprops(labels):
        if not 4 <= region.area <= 110 or region.axis_major_length > 1.9 * max(region.axis_minor_length, 1.0):
            continue
        row, column = region.centroid
        down, right = row > dark.shape[0] / 2, column > dark.shape[1] / 2
        quadrant = 2 + (not right) if down else int(right)
        width_um = 2 * float(np.sqrt(region.area / np.pi)) * 1000 * mm_per_px
        (dots if width_um < DOT_UNDER_UM else blots)[quadrant] += 1
    return {"dots": tuple(dots), "blots": tuple(blots), "large_mm2": large}


def bright_lesions(pixels: npt.NDArray[np.uint8], mm_per_px: float) -> dict[str, float]:
    """Return number and area (mm2) of small yellow spots away from the disc."""
    image = ndimage()
    colours, field = _channels(pixels)
    bright = field & (colours[..., 1] > 1.45 * _ground(colours[..., 1])) & (colours[..., 1] > 110)
    disc = image.binary_opening(bright, structure=skimage("morphology").disk(6))
    bright &= image.distance_transform_edt(~disc) > 30
    labels, count = image.label(image.binary_opening(bright))
    areas = image.sum_labels(bright, labels, np.arange(1, count + 1)) if count else np.array([])
    spots = areas[(areas >= 4) & (areas < 120)]
    return {"count": float(len(spots)), "mm2": float(spots.sum()) * mm_per_px**2}


def cup_disc(pixels: npt.NDArray[np.uint8], mm_per_px: float) -> dict[str, float]:
    """Return vertical diameters disc_mm and cup_mm, and their ratio. Raises ToolError when no disc stands out."""
    image = ndimage()
    colours, field = _channels(pixels)
    blue = image.gaussian_filter(colours[..., 2], 0.8)
    middle = np.unravel_index(np.argmax(image.gaussian_filter(blue * field, 9.0)), blue.shape)
    ground = float(np.median(blue[field]))
    shape = skimage("morphology").disk(6)
    window = (slice(max(0, middle[0] - 45), middle[0] + 46), slice(max(0, middle[1] - 45), middle[1] + 46))
    part = image.grey_closing(blue, footprint=shape)[window]
    disc = _central(part > ground + 28)
    rim = part[disc]
    if disc.sum() < 300 or disc.sum() > 5000:
        raise ToolError("No optic disc stands out on this image. View it instead.")
    level = float(skimage("filters").threshold_otsu(rim))
    cup = _central(disc & (part > level))
    return {
        "disc_mm": _height(disc) * mm_per_px,
        "cup_mm": _height(cup) * mm_per_px,
        "ratio": _height(cup) / _height(disc),
    }


def _central(mask: Mask) -> Mask:
    """Return the largest connected part, holes filled."""
    image = ndimage()
    labels, count = image.label(mask)
    if not count:
        return mask
    sizes = image.sum_labels(mask, labels, np.arange(1, count + 1))
    filled: Mask = image.binary_fill_holes(labels == 1 + int(np.argmax(sizes)))
    return filled


def _height(mask: Mask) -> float:
    """Return the vertical diameter: the tallest tenth of the columns, in px."""
    tall = mask.sum(0)
    return float(np.percentile(tall[tall > 0], 90)) if tall.any() else 0.0
