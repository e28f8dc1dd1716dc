"""Bosniak classification 2019 of cystic renal masses on CT."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.toolkit import tool

BosniakClass = Literal["I", "II", "IIF", "III", "IV"]
THIN_MM, THICK_MM = 2.0, 4.0
ENHANCEMENT_HU = 20.0
"""Enhancement on CT is a rise by 20 HU or more."""


def bosniak_class(
    wall_mm: float, septa: int, septa_mm: float, nodule_mm: float, fluid_hu: float, walls_enhance: bool
) -> BosniakClass:
    """Return the class of a well-defined cystic mass seen without and with contrast.

    wall_mm, septa_mm: greatest thickness, smooth; up to 2 mm is thin, below 4 mm minimally thickened, from 4 mm thick.
    nodule_mm: height of an enhancing convex protrusion with obtuse margins, 0 for none; from 4 mm it is a nodule, below
    that the wall counts as irregular.
    fluid_hu: attenuation without contrast. walls_enhance: whether wall or septa visibly enhance.

    Source: Silverman et al., Radiology 2019;292(2):475-488, table 2, CT column. Protrusions with acute margins, masses too
    small to characterise and incomplete protocols are left out.
    """
    if nodule_mm >= THICK_MM:
        return "IV"
    if walls_enhance and (nodule_mm > 0 or wall_mm >= THICK_MM or (septa and septa_mm >= THICK_MM)):
        return "III"
    is_thickened = wall_mm > THIN_MM or (septa > 0 and septa_mm > THIN_MM)
    if walls_enhance and (is_thickened or septa >= 4):
        return "IIF"
    return "I" if septa == 0 and -9 <= fluid_hu <= 20 else "II"


MANAGEMENT = {
    "I": "no follow-up",
    "II": "no follow-up",
    "IIF": "imaging in 6 months",
    "III": "urology referral",
    "IV": "urology referral",
}
"""Source: Richard et al., Canadian Urological Association guideline, Can Urol Assoc J 2017;11(3-4):E66-E73."""


@tool()
def bosniak_2019(
    wall_mm: Annotated[float, Field(ge=0, le=30)],
    septa: Annotated[int, Field(ge=0, le=30)],
    septa_mm: Annotated[float, Field(ge=0, le=30)],
    nodule_mm: Annotated[float, Field(ge=0, le=100)],
    fluid_hu: Annotated[float, Field(ge=-50, le=200)],
    walls_enhance: bool,
) -> str:
    """Classify a cystic renal mass by Bosniak 2019 (CT without and with contrast).

    Args:
        wall_mm: Greatest thickness of the wall.
        septa: How many septa.
        septa_mm: Greatest thickness of a septum; 0 without septa.
        nodule_mm: Height of an enhancing nodule on wall or septum; 0 for none.
        fluid_hu: Fluid without contrast, in HU.
        walls_enhance: Wall or septa enhance.
    """
    if septa == 0 and septa_mm > 0:
        raise ToolError(f"septa is 0, yet septa_mm is {septa_mm:g}; give the number of septa.")
    category = bosniak_class(wall_mm, septa, septa_mm, nodule_mm, fluid_hu, walls_enhance)
    return f"Bosniak {category}: {MANAGEMENT[category]}"
