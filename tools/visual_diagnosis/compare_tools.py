"""Compares an image with an earlier one of the same kind."""

from collections.abc import Iterator

from healthgym.errors import ToolError
from healthgym.toolkit import tool

from .images import Image
from .look_tools import LookTools
from .measures.chest import cardiothoracic, opacities
from .measures.quality import quality


class CompareTools(LookTools):
    """Differences between two images."""

    @tool(minutes=2)
    def compare_images(self, image_id: str, prior_id: str) -> str:
        """Compare the measurements of an image with those of an earlier one of the same kind.

        Args:
            image_id: The newer image, for example film-0.
            prior_id: The earlier image, for example film-prior.
        """
        now, before = self.image(image_id), self.image(prior_id)
        if now.kind != before.kind:
            raise ToolError(f"{image_id} and {prior_id} show different things; compare images of one kind.")
        if image_id == prior_id:
            raise ToolError("image_id and prior_id are the same image; name two.")
        lines = [f"{prior_id} ({before.taken}) to {image_id} ({now.taken})"]
        for name, unit, digits, old, new in _pairs(before, now):
            change = f", {100 * (new - old) / old:+.0f} %" if old else ""
            lines.append(f"{name}: {old:.{digits}f} to {new:.{digits}f}{unit}{change}")
        self.measured(now, "comparison", prior_id)
        self.measured(before, "comparison", image_id)
        return "\n".join(lines)


def _pairs(before: Image, now: Image) -> Iterator[tuple[str, str, int, float, float]]:
    """Yield name, unit, digits and both values of what images of this kind are compared by."""
    old, new = (image.measure(quality) for image in (before, now))
    yield "contrast", "", 2, old["contrast"], new["contrast"]
    if now.kind == "chest_film":
        yield "heart", " mm", 0, before.measure(cardiothoracic)["heart_mm"], now.measure(cardiothoracic)["heart_mm"]
        largest = [
            max((item["diameter_mm"] for item in image.measure(opacities)), default=0.0) for image in (before, now)
        ]
        yield "largest opacity", " mm", 0, largest[0], largest[1]
