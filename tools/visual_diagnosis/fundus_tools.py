"""Tools that measure photographs of the fundus."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool

from ..scores.retinopathy_grade import retinopathy_grade
from .look_tools import LookTools
from .measures.fundus import LARGE_MM2, QUADRANTS, bright_lesions, cup_disc, red_lesions


class FundusTools(LookTools):
    """Measurements on the pixels of a colour photograph of the fundus."""

    @tool(minutes=2)
    def fundus_red_lesions(self, image_id: str) -> str:
        """Count red dots (under 150 um) and blots by quadrant of the picture, and measure larger pools of blood.

        Args:
            image_id: For example fundus-right.
        """
        image = self.image(image_id, "fundus")
        found = image.measure(red_lesions)
        self.measured(image, "red", sum(found["dots"]) + sum(found["blots"]))
        lines = [
            f"{name:11}: {dots} dots, {blots} blots"
            for name, dots, blots in zip(QUADRANTS, found["dots"], found["blots"], strict=True)
        ]
        large = f"{found['large_mm2']:.1f} mm2" if found["large_mm2"] >= LARGE_MM2 else "none"
        return "\n".join([*lines, f"pool of blood in front of the retina: {large}"])

    @tool(minutes=1)
    def fundus_bright_lesions(self, image_id: str) -> str:
        """Count small yellow spots (hard exudates) away from the disc.

        Args:
            image_id: For example fundus-right.
        """
        image = self.image(image_id, "fundus")
        found = image.measure(bright_lesions)
        self.measured(image, "bright", found["count"])
        return f"{found['count']:.0f} yellow spots, together {found['mm2']:.2f} mm2"

    @tool(minutes=2)
    def cup_disc_ratio(self, image_id: str) -> str:
        """Measure the vertical diameters of the optic disc and its cup, and their ratio.

        Args:
            image_id: For example fundus-right.
        """
        image = self.image(image_id, "fundus")
        found = image.measure(cup_disc)
        self.measured(image, "cup", round(found["ratio"], 2))
        return f"{image_id}: disc {found['disc_mm']:.2f} mm, cup {found['cup_mm']:.2f} mm, ratio {found['ratio']:.2f}"

    @tool()
    def grade_retinopathy(
        self,
        microaneurysms: Annotated[int, Field(ge=0, le=1000)],
        haemorrhages_by_quadrant: Annotated[
            list[Annotated[int, Field(ge=0, le=500)]], Field(min_length=4, max_length=4)
        ],
        preretinal_bleeding: bool,
        exudates: Annotated[int, Field(ge=0, le=1000)] = 0,
    ) -> str:
        """Grade diabetic retinopathy on the international scale (ICDR) from what was counted.

        Args:
            microaneurysms: Number of red dots.
            haemorrhages_by_quadrant: Blots in each quadrant, four numbers.
            preretinal_bleeding: Whether there is blood in front of the retina.
            exudates: Number of hard exudates.
        """
        grade = retinopathy_grade(
            microaneurysms, haemorrhages_by_quadrant, has_preretinal_bleeding=preretinal_bleeding, exudates=exudates
        )
        return grade.replace("_", " ")
