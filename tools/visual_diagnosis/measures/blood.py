"""Measures a blood film: counts cells, sorts red cells by size, pallor and shape, finds inclusions."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from healthgym.errors import ToolError

from .libraries import ndimage, skimage

Mask = npt.NDArray[np.bool_]
PALLOR_OVER = 1 / 3
"""Pallor wider than a third of the cell is hypochromia. Source: ICSH, Int J Lab Hematol 2015;37:287."""
SMALL_UM, DENSE_PALLOR = 6.8, 0.12
ELONGATED, FRAGMENT_UM = 2.4, 5.2
INCLUSION_PX = 12


@dataclass(frozen=True)
class RedCell:
    """One red cell: diameter of a disc of equal area, pallor's width over the cell's, length over width, inclusion."""

    diameter_um: float
    pallor: float
    aspect: float
    has_inclusion: bool

    @property
    def shape(self) -> str:
        """One of elongated, fragment, pale (pallor over a third), dense (small, no pallor) and usual."""
        if self.aspect >= ELONGATED:
            return "elongated"
        if self.diameter_um < FRAGMENT_UM:
            return "fragment"
        if self.pallor > PALLOR_OVER:
            return "pale"
        return "dense" if self.pallor < DENSE_PALLOR and self.diameter_um < SMALL_UM else "usual"


def _colours(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    if pixels.ndim != 3:
        raise ToolError("This image has no colour; cells of a stained film cannot be told apart on it.")
    return np.stack([ndimage().gaussian_filter(pixels[..., i].astype(float), 0.8) for i in range(3)], axis=-1)


def red_cells(pixels: npt.NDArray[np.uint8], mm_per_px: float) -> tuple[RedCell, ...]:
    """Return the red cells that lie wholly in the field."""
    image, um = ndimage(), 1000 * mm_per_px
    colours = _colours(pixels)
    red, green, blue = (colours[..., i] for i in range(3))
    is_purple = blue > red + 6
    inked = image.binary_fill_holes(green < 186)
    labels, _ = image.label(image.binary_opening(inked))
    cells = []
    for region in skimage("measure").regionprops(labels):
        top, left, bottom, right = region.bbox
        inside = (slice(top, bottom), slice(left, right))
        mask = region.image
        touches = top == 0 or left == 0 or bottom == labels.shape[0] or right == labels.shape[1]
        if region.area < 90 or touches or is_purple[inside][mask].mean() > 0.4:
            continue
        rim = float(np.percentile(green[inside][mask], 30))
        light = mask & (green[inside] > rim + 36) & image.binary_erosion(mask, iterations=2)
        width = max(region.axis_minor_length, 1e-6)
        cells.append(
            RedCell(
                diameter_um=2 * float(np.sqrt(region.area / np.pi)) * um,
                pallor=float(np.sqrt(light.sum() / region.area)),
                aspect=float(region.axis_major_length / width),
                has_inclusion=bool((is_purple[inside] & mask).sum() >= INCLUSION_PX),
            )
        )
    return tuple(cells)


def counts(pixels: npt.NDArray[np.uint8], mm_per_px: float) -> dict[str, int]:
    """Return numbers of red cells, white cells with lobed and with round nucleus, and platelets."""
    image = ndimage()
    colours = _colours(pixels)
    purple = image.binary_opening((colours[..., 2] > colours[..., 0] + 6) & (colours[..., 1] < 150))
    labels, count = image.label(purple)
    areas = image.sum_labels(purple, labels, np.arange(1, count + 1)) if count else np.array([])
    lobes = np.isin(labels, 1 + np.nonzero(areas >= 130)[0])
    whites, number = image.label(image.binary_dilation(lobes, iterations=4))
    lobed = 0
    for index in range(1, number + 1):
        part = (whites == index) & lobes
        region = skimage("measure").regionprops(part.astype(int))[0]
        lobed += bool(image.label(part)[1] > 1 or region.solidity < 0.92)
    platelets = int(((areas >= 25) & (areas < 130)).sum())
    return {"red": len(red_cells(pixels, mm_per_px)), "lobed": lobed, "round": number - lobed, "platelets": platelets}
