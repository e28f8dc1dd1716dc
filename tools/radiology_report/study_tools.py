"""Tools that look: the request, the record, priors and the images themselves."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from healthgym.errors import ToolError, nearest
from healthgym.toolkit import Picture, Shown, Toolkit, tool

from .atlas import place_of
from .images import Image, draw_image

Millimetres = Annotated[float, Field(ge=0, le=400)]


class StudyTools(Toolkit):
    """Request, record, priors, images and regions of images."""

    def image(self, image_id: str) -> Image:
        """Return an image of any patient here. Raises ToolError, naming the images there are."""
        return draw_image(self._spec(image_id)[1])

    def owner(self, image_id: str) -> str:
        """Return the patient an image belongs to."""
        return self._spec(image_id)[0]

    def _spec(self, image_id: str) -> tuple[str, Mapping[str, Any]]:
        for patient_id, chart in self.world.charts.items():
            spec = chart.extra["images"].get(image_id)
            if spec is not None:
                return patient_id, spec
        known = [name for chart in self.world.charts.values() for name in chart.extra["images"]]
        raise ToolError(f"No image {image_id[:40]!r}.{nearest(image_id[:40], known)}")

    def picture(self, image_id: str) -> Picture:
        """Return an image as a picture."""
        image = self.image(image_id)
        return Picture(image_id, image.pixels, image.caption)

    @tool(minutes=1)
    def open_study(self, patient_id: str) -> str:
        """Open today's study: request, images, and which priors there are.

        Args:
            patient_id: For example P1.
        """
        chart = self.world.chart(patient_id)
        study = chart.extra["study"]
        self.world.reveal(patient_id, "request", study["title"])
        self.world.reveal(patient_id, "age_years", chart.age_years, "years")
        lines = [
            f"{study['title']}. {chart.age_years:g} years, {chart.sex}.",
            f"Request: {study['request']}",
            f"Report template: {study['template']}",
            "Images today:",
        ]
        lines += [
            f"  {name}: {spec['title']}" for name, spec in chart.extra["images"].items() if name.startswith("now")
        ]
        for prior in chart.extra["priors"]:
            images = ", ".join(name for name in chart.extra["images"] if name.startswith(prior["id"]))
            lines.append(
                f"Earlier study {prior['id']} ({prior['when']}): report" + (f", images {images}" if images else "")
            )
        if not chart.extra["priors"]:
            lines.append("No prior.")
        return "\n".join(lines)

    @tool(minutes=1)
    def read_history(self, patient_id: str) -> str:
        """Read what the record says of risks, illnesses and earlier treatment.

        Args:
            patient_id: For example P1.
        """
        chart = self.world.chart(patient_id)
        self.world.reveal(patient_id, "history", True)
        return "\n".join(f"- {line}" for line in chart.extra["history"])

    @tool(minutes=1)
    def prior_report(self, patient_id: str, prior_id: str) -> str:
        """Read the report of an earlier study.

        Args:
            patient_id: For example P1.
            prior_id: As open_study names it, for example prior.
        """
        priors = {prior["id"]: prior for prior in self.world.chart(patient_id).extra["priors"]}
        if not priors:
            raise ToolError(f"{patient_id} has no prior study.")
        if prior_id not in priors:
            raise ToolError(f"No prior {prior_id[:40]!r}.{nearest(prior_id[:40], priors)}")
        self.world.reveal(patient_id, f"priors.{prior_id}", priors[prior_id]["when"])
        return f"{priors[prior_id]['when']}: {priors[prior_id]['report']}"

    @tool(minutes=1)
    def view_image(self, image_id: str) -> Shown:
        """Look at an image.

        Args:
            image_id: As open_study names it, for example now-1.
        """
        picture = self.picture(image_id)
        self.world.reveal(self.owner(image_id), f"viewed.{image_id}")
        return Shown("", (picture,))

    @tool(minutes=1)
    def view_region(
        self, image_id: str, x_mm: Millimetres, y_mm: Millimetres, size_mm: Annotated[float, Field(ge=8, le=120)] = 30.0
    ) -> Shown:
        """Magnify a square of an image, and print it as an 8 x 8 table of mean values.

        Args:
            image_id: For example now-1.
            x_mm: Centre, mm from the left edge.
            y_mm: Centre, mm from the top edge.
            size_mm: Side of the square.
        """
        import numpy as np

        from .measure import pixel_of

        image = self.image(image_id)
        row, column = pixel_of(image, x_mm, y_mm)
        half = max(4, round(size_mm / 2 / image.pixel_mm))
        rows, columns = slice(max(0, row - half), row + half), slice(max(0, column - half), column + half)
        crop, values = image.pixels[rows, columns], image.values[rows, columns]
        zoom = max(1, 192 // max(crop.shape))
        table = "\n".join(
            " ".join(f"{cell.mean():5.0f}" for cell in np.array_split(band, 8, axis=1))
            for band in np.array_split(values, 8, axis=0)
        )
        self.world.reveal(self.owner(image_id), f"viewed.{image_id}")
        caption = f"part of {image_id} around ({x_mm:g}, {y_mm:g}) mm, {image.pixel_mm / zoom:.3g} mm/px"
        enlarged = np.kron(crop, np.ones((zoom, zoom), np.uint8))
        return Shown(f"Means in {image.unit}:\n{table}", (Picture(f"{image_id}-part", enlarged, caption),))

    @tool(minutes=1)
    def name_location(self, image_id: str, x_mm: Millimetres, y_mm: Millimetres) -> str:
        """Name the anatomical place of a point, as reports call it.

        Args:
            image_id: For example now-1.
            x_mm: Millimetres from the left edge.
            y_mm: Millimetres from the top edge.
        """
        from .measure import pixel_of

        image = self.image(image_id)
        pixel_of(image, x_mm, y_mm)
        place = place_of(image, x_mm, y_mm)
        self.world.reveal(self.owner(image_id), f"places.{image_id}", place)
        return place
