"""ACR TI-RADS 2017: points and management of thyroid nodules on ultrasound."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.toolkit import tool

Composition = Literal["cystic", "spongiform", "mixed", "solid"]
Echogenicity = Literal["anechoic", "hyperechoic", "isoechoic", "hypoechoic", "very_hypoechoic"]
Margin = Literal["smooth", "ill_defined", "lobulated", "extrathyroidal"]
Foci = Literal["none", "macrocalcification", "rim_calcification", "punctate"]

COMPOSITION_POINTS = {"cystic": 0, "spongiform": 0, "mixed": 1, "solid": 2}
ECHOGENICITY_POINTS = {"anechoic": 0, "hyperechoic": 1, "isoechoic": 1, "hypoechoic": 2, "very_hypoechoic": 3}
MARGIN_POINTS = {"smooth": 0, "ill_defined": 0, "lobulated": 2, "extrathyroidal": 3}
FOCI_POINTS = {"none": 0, "macrocalcification": 1, "rim_calcification": 2, "punctate": 3}
LIMITS_MM = {3: (15.0, 25.0), 4: (10.0, 15.0), 5: (5.0, 10.0)}
"""By level: largest diameter from which follow-up, and from which fine-needle aspiration, is advised."""


def ti_rads_points(
    composition: Composition, echogenicity: Echogenicity, taller_than_wide: bool, margin: Margin, foci: tuple[Foci, ...]
) -> int:
    """Return the points; foci add up, and cystic and spongiform nodules get none at all.

    Source: Tessler et al., J Am Coll Radiol 2017;14(5):587-595, figure 1.
    """
    if composition in ("cystic", "spongiform"):
        return 0
    return (
        COMPOSITION_POINTS[composition]
        + ECHOGENICITY_POINTS[echogenicity]
        + 3 * taller_than_wide
        + MARGIN_POINTS[margin]
        + sum(FOCI_POINTS[item] for item in set(foci))
    )


def ti_rads_level(points: int) -> int:
    """Return the level 1 to 5 of a total. Source: Tessler et al., 2017."""
    return 1 if points < 2 else 2 if points == 2 else 3 if points == 3 else 4 if points <= 6 else 5


def ti_rads_management(level: int, size_mm: float) -> Literal["fna", "ultrasound_1_year", "none"]:
    """Return what the level and the largest diameter ask for. Source: Tessler et al., 2017."""
    follow, aspirate = LIMITS_MM.get(level, (float("inf"), float("inf")))
    return "fna" if size_mm >= aspirate else "ultrasound_1_year" if size_mm >= follow else "none"


@tool()
def ti_rads(
    composition: Composition,
    echogenicity: Echogenicity,
    taller_than_wide: bool,
    margin: Margin,
    echogenic_foci: Annotated[list[Foci], Field(min_length=1, max_length=4)],
    size_mm: Annotated[float, Field(gt=0, le=150)],
) -> str:
    """Score a thyroid nodule with ACR TI-RADS 2017: points, level and management.

    Args:
        composition: mixed is cystic and solid.
        echogenicity: Of the solid part, against the gland; very_hypoechoic is darker than the neck muscles.
        taller_than_wide: On the transverse image.
        margin: Margin.
        echogenic_foci: All kinds seen; none alone when there are none.
        size_mm: Largest diameter.
    """
    if "none" in echogenic_foci and len(set(echogenic_foci)) > 1:
        raise ToolError("echogenic_foci holds 'none' beside other kinds; leave 'none' out.")
    if composition in ("mixed", "solid") and echogenicity == "anechoic":
        raise ToolError(f"A {composition} nodule has a solid part, which is not anechoic; grade that part.")
    points = ti_rads_points(composition, echogenicity, taller_than_wide, margin, tuple(echogenic_foci))
    level = ti_rads_level(points)
    return f"{points} points, TR{level}, at {size_mm:g} mm: {ti_rads_management(level, size_mm)}"
