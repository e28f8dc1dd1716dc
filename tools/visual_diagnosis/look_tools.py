"""Tools that look: request, list, view, zoom, contrast, quality."""

from typing import Annotated

import numpy as np
from pydantic import Field

from healthgym.errors import ToolError, nearest
from healthgym.toolkit import Picture, Shown, Toolkit, tool

from .images import KIND_NAMES, Image, image_of
from .measures.quality import enhance, quality


class LookTools(Toolkit):
    """Reading the request and looking at images."""

    def picture(self, image_id: str) -> Picture:
        """Return the picture of this id."""
        return self.image(image_id).picture

    def image(self, image_id: str, *kinds: str) -> Image:
        """Return the image of this id. Raises ToolError when there is none, or when it is of none of the `kinds`."""
        known: list[str] = []
        for chart in self.world.charts.values():
            entries = chart.extra.get("images", {})
            if image_id in entries:
                found = image_of(chart.patient_id, image_id, entries[image_id])
                if kinds and found.kind not in kinds:
                    wanted = " or ".join(KIND_NAMES[kind] for kind in kinds)
                    raise ToolError(
                        f"{image_id} shows another kind of thing ({KIND_NAMES[found.kind]}); this tool measures: {wanted}."
                    )
                return found
            known += entries
        raise ToolError(f"No image {image_id[:40]!r}.{nearest(image_id[:40], known)}")

    def measured(self, image: Image, what: str, value: float | str | bool | None = True, unit: str = "") -> None:
        """Record that a measurement of an image has been seen."""
        self.world.reveal(image.patient_id, f"measured.{image.id}.{what}", value, unit)

    @tool(minutes=1)
    def read_request(self, patient_id: str) -> str:
        """Read the request: age, sex, clinical question, notes and earlier readings.

        Args:
            patient_id: For example P1.
        """
        chart = self.world.chart(patient_id)
        self.world.reveal(patient_id, "request")
        self.world.reveal(patient_id, "sex", chart.sex)
        self.world.reveal(patient_id, "age_years", chart.age_years, "years")
        lines = [f"{patient_id}: {chart.age_years:g} y, {chart.sex}. {chart.extra.get('request', '')}"]
        return "\n".join([*lines, *(f"- {note}" for note in chart.extra.get("notes", ()))])

    @tool()
    def list_images(self, patient_id: str) -> str:
        """List the patient's images with kind, view, date and scale.

        Args:
            patient_id: For example P1.
        """
        entries = self.world.chart(patient_id).extra.get("images", {})
        self.world.reveal(patient_id, "images", len(entries))
        if not entries:
            return f"{patient_id} has no images."
        return "\n".join(f"{name}: {image_of(patient_id, name, entry).caption}" for name, entry in entries.items())

    @tool(minutes=1)
    def view_image(self, image_id: str) -> Shown:
        """Look at an image.

        Args:
            image_id: As list_images names it, for example film-1.
        """
        image = self.image(image_id)
        self.world.reveal(image.patient_id, f"viewed.{image_id}")
        return Shown(f"{image_id} of {image.patient_id}.", (image.picture,))

    @tool(minutes=1)
    def zoom(
        self,
        image_id: str,
        left: Annotated[float, Field(ge=0, lt=1)],
        top: Annotated[float, Field(ge=0, lt=1)],
        share: Annotated[float, Field(ge=0.1, le=0.6)] = 0.4,
    ) -> Shown:
        """Look at a part of an image, enlarged.

        Args:
            image_id: Image id.
            left: Where the part begins, as a share of the width from the left.
            top: Where it begins, as a share of the height from the top.
            share: Size of the part as a share of the image.
        """
        image = self.image(image_id)
        self.world.reveal(image.patient_id, f"viewed.{image_id}")
        height, width = image.pixels.shape[:2]
        x, y = min(int(left * width), int((1 - share) * width)), min(int(top * height), int((1 - share) * height))
        part = image.pixels[y : y + int(share * height), x : x + int(share * width)]
        shown = np.repeat(np.repeat(part, 2, axis=0), 2, axis=1)
        at = f"columns {x}-{x + part.shape[1] - 1}, rows {y}-{y + part.shape[0] - 1}"
        return Shown(f"{at}, enlarged twice.", (Picture(f"{image_id}-part", shown, f"part of {image.caption}"),))

    @tool(minutes=1)
    def enhance_contrast(self, image_id: str) -> Shown:
        """Look at an image with its contrast stretched between the darkest and brightest 2 %.

        Args:
            image_id: Image id.
        """
        image = self.image(image_id)
        self.world.reveal(image.patient_id, f"viewed.{image_id}")
        caption = f"{image.caption}, contrast stretched"
        return Shown("Contrast stretched.", (Picture(f"{image_id}-contrast", enhance(image.pixels), caption),))

    @tool(minutes=1)
    def image_quality(self, image_id: str) -> str:
        """Measure brightness, contrast, noise and sharpness of an image.

        Args:
            image_id: Image id.
        """
        image = self.image(image_id)
        found = image.measure(quality)
        self.measured(image, "quality", round(found["contrast"], 2))
        return (
            f"brightness {found['brightness']:.0f} of 255, contrast {found['contrast']:.2f} of 1, "
            f"noise {found['noise']:.1f} grey levels, sharpness {found['sharpness']:.1f}"
        )
