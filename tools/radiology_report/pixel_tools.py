"""Tools that measure on the pixels of an image."""

from typing import Annotated

import numpy as np
from pydantic import Field

from healthgym.errors import ToolError
from healthgym.toolkit import tool

from .atlas import place_of, side_pairs
from .measure import MIN_CONTRAST, Region, box, find_regions, measure_at, organ_level, prepare
from .profiles import disc_mean, line_values, pieces_of
from .study_tools import Millimetres, StudyTools

VENTRICLE_HU = 20.0


class PixelTools(StudyTools):
    """Candidates, diameters, densities, profiles, sides and differences from the prior."""

    @tool(minutes=1)
    def find_regions(self, image_id: str) -> str:
        """List regions that stand out of the organ, largest first, normal structures such as vessels included.

        Args:
            image_id: For example now-1.
        """
        image = self.image(image_id)
        found = find_regions(image)
        self.world.reveal(self.owner(image_id), f"viewed.{image_id}")
        self.world.reveal(self.owner(image_id), f"regions.{image_id}", len(found))
        head = f"Organ {organ_level(image):.0f} {image.unit}; {len(found)} regions."
        return "\n".join(
            [
                head,
                *(f"  {_brief(region, image.unit)}, {place_of(image, region.x_mm, region.y_mm)}" for region in found),
            ]
        )

    @tool(minutes=1)
    def measure_lesion(self, image_id: str, x_mm: Millimetres, y_mm: Millimetres) -> str:
        """Outline the region at a point to half of its contrast: axes, mean diameter, density, margin.

        Args:
            image_id: For example now-1.
            x_mm: Millimetres from the left edge.
            y_mm: Millimetres from the top edge.
        """
        image = self.image(image_id)
        region = measure_at(image, x_mm, y_mm)
        self.world.reveal(self.owner(image_id), f"measured.{image_id}", round(region.long_mm, 1), "mm")
        return f"{place_of(image, region.x_mm, region.y_mm)}: {_full(region, image.unit)}"

    @tool(minutes=1)
    def measure_roi(
        self,
        image_id: str,
        x_mm: Millimetres,
        y_mm: Millimetres,
        radius_mm: Annotated[float, Field(ge=0.5, le=40)] = 3.0,
    ) -> str:
        """Mean and spread in a disc, and means of the rings around it, by distance from the centre.

        Args:
            image_id: For example now-1.
            x_mm: Millimetres from the left edge.
            y_mm: Millimetres from the top edge.
            radius_mm: Radius of the disc.
        """
        image = self.image(image_id)
        mean, spread = disc_mean(image, x_mm, y_mm, radius_mm)
        width = max(2 * image.pixel_mm, radius_mm / 3)
        rings = [
            f"{inner:.1f}-{inner + width:.1f} mm {disc_mean(image, x_mm, y_mm, inner + width, inner)[0]:.0f}"
            for inner in radius_mm + width * np.arange(8)
        ]
        self.world.reveal(self.owner(image_id), f"roi.{image_id}", round(mean, 1), image.unit)
        return f"Disc {mean:.1f} {image.unit}, SD {spread:.1f}. Rings: {'; '.join(rings)}."

    @tool(minutes=1)
    def line_profile(
        self, image_id: str, x1_mm: Millimetres, y1_mm: Millimetres, x2_mm: Millimetres, y2_mm: Millimetres
    ) -> str:
        """Cut a line into stretches of about one value, with their lengths: thickness of walls, septa, collections.

        Args:
            image_id: For example now-1.
            x1_mm: Start, mm from the left edge.
            y1_mm: Start, mm from the top edge.
            x2_mm: End, mm from the left edge.
            y2_mm: End, mm from the top edge.
        """
        image = self.image(image_id)
        distance, values = line_values(image, (x1_mm, y1_mm), (x2_mm, y2_mm))
        pieces = pieces_of(distance, values, 1.2 * MIN_CONTRAST[image.kind], image.pixel_mm)
        self.world.reveal(self.owner(image_id), f"profiled.{image_id}", len(pieces))
        rows = [
            f"{piece.start_mm:5.1f} to {piece.end_mm:5.1f} mm ({piece.length_mm:4.1f} mm): {piece.mean:.0f} {image.unit}"
            for piece in pieces
        ]
        return "\n".join(rows)

    @tool(minutes=1)
    def compare_sides(self, image_id: str) -> str:
        """Compare mirrored places of a chest film or head CT: right, left and their difference.

        Args:
            image_id: For example now-1.
        """
        image = self.image(image_id)
        if image.kind not in ("chest_film", "ct_head"):
            raise ToolError(
                f"{image_id} is a {image.kind.replace('_', ' ')}; only chest films and head CT are compared side by side."
            )
        self.world.reveal(self.owner(image_id), f"viewed.{image_id}")
        self.world.reveal(self.owner(image_id), f"sides.{image_id}")
        rows = [
            f"{name:<10} right {right:6.1f}  left {left:6.1f}  right - left {right - left:+6.1f}"
            for name, right, left, _, _ in side_pairs(image)
        ]
        return "\n".join([f"Medians in {image.unit}:", *rows])

    @tool(minutes=1)
    def midline_shift(self, image_id: str) -> str:
        """Measure how far the midline between the ventricles lies from the middle of the skull.

        Args:
            image_id: For example now-1, a head CT.
        """
        image = self.image(image_id)
        if image.kind != "ct_head":
            raise ToolError(f"{image_id} is a {image.kind.replace('_', ' ')}; the midline is measured on head CT.")
        smooth, mask = prepare(image)
        _, _, left, right = box(smooth > 90)
        dark = mask & (smooth < VENTRICLE_HU)
        columns = np.flatnonzero(dark.any(axis=0))
        if columns.size == 0:
            raise ToolError("No ventricle is seen in this slice; take another one.")
        shift_mm = ((columns[0] + columns[-1] + 1) / 2 - (left + right) / 2) * image.pixel_mm
        self.world.reveal(self.owner(image_id), f"midline.{image_id}", round(float(shift_mm), 1), "mm")
        side = "the patient's left" if shift_mm > 0 else "the patient's right"
        return f"Midline shift {abs(shift_mm):.1f} mm" + (f" towards {side}" if abs(shift_mm) >= 1 else "")

    @tool(minutes=1)
    def compare_with_prior(self, image_id: str, prior_image_id: str, x_mm: Millimetres, y_mm: Millimetres) -> str:
        """Measure the region at a point today and the nearest region on the prior image, and give the difference.

        Args:
            image_id: For example now-1.
            prior_image_id: For example prior-1.
            x_mm: Today, mm from the left edge.
            y_mm: Today, mm from the top edge.
        """
        image, prior = self.image(image_id), self.image(prior_image_id)
        if image.kind != prior.kind or image_id == prior_image_id:
            raise ToolError(
                f"Compare two images of one kind, got {image_id} ({image.kind}) and {prior_image_id} ({prior.kind})."
            )
        now = measure_at(image, x_mm, y_mm)
        owner = self.owner(image_id)
        self.world.reveal(owner, f"measured.{image_id}", round(now.long_mm, 1), "mm")
        self.world.reveal(owner, f"viewed.{prior_image_id}")
        self.world.reveal(owner, f"measured.{prior_image_id}", True)
        near = [
            r
            for r in find_regions(prior)
            if np.hypot(r.x_mm - now.x_mm, r.y_mm - now.y_mm) < SEARCH_MM
            and (r.mean > r.surroundings) == (now.mean > now.surroundings)
        ]
        head = f"Today, {place_of(image, now.x_mm, now.y_mm)}: {_full(now, image.unit)}"
        if not near:
            return f"{head}\nPrior: nothing stands out within {SEARCH_MM} mm of this place."
        closest = min(near, key=lambda r: float(np.hypot(r.x_mm - now.x_mm, r.y_mm - now.y_mm)))
        before = measure_at(prior, closest.x_mm, closest.y_mm)
        return f"{head}\nPrior: {_full(before, image.unit)}\nMean diameter {now.mean_mm - before.mean_mm:+.1f} mm, long axis {now.long_mm - before.long_mm:+.1f} mm"


SEARCH_MM = 14
"""How far from today's place a region of the prior is looked for: positions differ by a few millimetres."""


def _brief(region: Region, unit: str) -> str:
    return (
        f"({region.x_mm:.0f}, {region.y_mm:.0f}) mm: {region.long_mm:.1f} x {region.short_mm:.1f} mm, "
        f"{region.mean:.0f} {unit}, {'brighter' if region.mean > region.surroundings else 'darker'}, solidity {region.solidity:.2f}"
    )


def _full(region: Region, unit: str) -> str:
    parts = [
        f"long axis {region.long_mm:.1f} mm, short axis {region.short_mm:.1f} mm, mean diameter {region.mean_mm:.1f} mm",
        f"width {region.width_mm:.1f} mm, height {region.height_mm:.1f} mm",
        f"{region.mean:.0f} {unit} in {region.surroundings:.0f} {unit}",
        f"solidity {region.solidity:.2f}, edge drawn out over {region.edge_mm:.1f} mm",
    ]
    if region.core_mm is not None:
        parts.append(f"layered: dense centre of {region.core_mm:.1f} mm mean diameter")
    if region.rim_mm:
        parts.append(f"rim of {region.rim_mm:.1f} mm")
    return ", ".join(parts)
