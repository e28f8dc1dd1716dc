"""Compares an image with an earlier one of the same kind."""

from collections.abc import Callable, Iterator, Mapping

from healthgym.errors import ToolError
from healthgym.toolkit import tool

from .images import Image
from .look_tools import LookTools
from .measures.blood import red_cells
from .measures.chest import cardiothoracic, opacities
from .measures.ecg import intervals, rhythm
from .measures.fundus import cup_disc, red_lesions
from .measures.histology import nuclei
from .measures.quality import quality
from .measures.skin import size


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
    for name, unit, digits, measure in (*FOR_ALL, *BY_KIND.get(now.kind, ())):
        yield name, unit, digits, measure(before), measure(now)


def _largest_opacity(image: Image) -> float:
    return max((float(item["diameter_mm"]) for item in image.measure(opacities)), default=0.0)


def _blots(image: Image) -> float:
    return float(sum(image.measure(red_lesions)["blots"]))


Row = tuple[str, str, int, Callable[[Image], float]]
FOR_ALL: tuple[Row, ...] = (("contrast", "", 2, lambda image: image.measure(quality)["contrast"]),)
BY_KIND: Mapping[str, tuple[Row, ...]] = {
    "chest_film": (
        ("heart", " mm", 0, lambda image: image.measure(cardiothoracic)["heart_mm"]),
        ("largest opacity", " mm", 0, _largest_opacity),
    ),
    "skin_lesion": (("area", " mm2", 1, lambda image: image.measure(size)["area_mm2"]),),
    "fundus": (("blots", "", 0, _blots), ("cup-disc ratio", "", 2, lambda image: image.measure(cup_disc)["ratio"])),
    "ecg_strip": (
        ("rate", "/min", 0, lambda image: image.measure(rhythm)["rate_per_min"]),
        ("QT", " ms", 0, lambda image: image.measure(intervals)["qt_ms"]),
    ),
    "blood_film": (("red cells", "", 0, lambda image: float(len(image.measure(red_cells)))),),
    "histology": (("positive nuclei", "", 0, lambda image: float(image.measure(nuclei)["positive"])),),
}
"""What images of a kind are compared by, beside what all are."""
