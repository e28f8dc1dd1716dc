"""Tools that measure dermoscopy of a skin lesion, and the ABCD rule."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool

from ..scores.abcd_dermoscopy import abcd_class, total_dermatoscopy_score
from .look_tools import LookTools
from .measures.skin import ASYMMETRIC_SHARE, CUT_OFF_MM, asymmetry, border, colours, size


class SkinTools(LookTools):
    """Measurements on the pixels of one lesion."""

    @tool(minutes=1)
    def segment_lesion(self, image_id: str) -> str:
        """Outline a skin lesion and measure its area and greatest diameter.

        Args:
            image_id: For example lesion-0.
        """
        image = self.image(image_id, "skin_lesion")
        found = image.measure(size)
        self.measured(image, "size", round(found["longest_mm"], 1), "mm")
        return f"area {found['area_mm2']:.1f} mm2, greatest diameter {found['longest_mm']:.1f} mm"

    @tool(minutes=1)
    def lesion_asymmetry(self, image_id: str) -> str:
        """Fold a lesion's outline over two crossing axes; says how much lies outside, and which axes are asymmetric.

        Args:
            image_id: For example lesion-0.
        """
        image = self.image(image_id, "skin_lesion")
        shares = image.measure(asymmetry)
        self.measured(image, "asymmetry", sum(share > ASYMMETRIC_SHARE for share in shares))
        return "\n".join(
            f"axis {number}: {100 * share:.0f} % outside, {'asymmetric' if share > ASYMMETRIC_SHARE else 'symmetric'}"
            for number, share in enumerate(shares, 1)
        )

    @tool(minutes=1)
    def lesion_border(self, image_id: str) -> str:
        """Measure how wide a lesion's border fades in each eighth; under 0.25 mm it ends abruptly.

        Args:
            image_id: For example lesion-0.
        """
        image = self.image(image_id, "skin_lesion")
        widths = image.measure(border)
        abrupt = sum(width < CUT_OFF_MM for width in widths)
        self.measured(image, "border", abrupt)
        return f"fades over {', '.join(f'{width:.2f}' for width in widths)} mm, clockwise from the right; {abrupt} of 8 end abruptly"

    @tool(minutes=1)
    def lesion_colours(self, image_id: str) -> str:
        """Name the colours of a lesion that cover at least 2.5 % of it, of the six of the ABCD rule.

        Args:
            image_id: For example lesion-0.
        """
        image = self.image(image_id, "skin_lesion")
        found = image.measure(colours)
        self.measured(image, "colours", len(found))
        shares = ", ".join(
            f"{name} {100 * share:.0f} %" for name, share in sorted(found.items(), key=lambda item: -item[1])
        )
        return f"{len(found)}: {shares}"

    @tool()
    def abcd_score(
        self,
        asymmetric_axes: Annotated[int, Field(ge=0, le=2)],
        abrupt_eighths: Annotated[int, Field(ge=0, le=8)],
        colours: Annotated[int, Field(ge=1, le=6)],
        structures: Annotated[int, Field(ge=1, le=5)],
    ) -> str:
        """Work out the total dermatoscopy score of the ABCD rule.

        Args:
            asymmetric_axes: 0 to 2.
            abrupt_eighths: Eighths of the border that end abruptly, 0 to 8.
            colours: Number of colours, 1 to 6.
            structures: Number of dermoscopic structures, 1 to 5.
        """
        score = total_dermatoscopy_score(asymmetric_axes, abrupt_eighths, colours, structures)
        return f"total dermatoscopy score {score:.2f}: {abcd_class(score).replace('_', ' ')}"
