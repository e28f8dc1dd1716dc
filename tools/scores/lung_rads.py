"""Lung-RADS 2022: categories of screening CT of the lung."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.toolkit import tool

NoduleType = Literal["none", "solid", "part_solid", "ground_glass"]
Course = Literal["baseline", "new", "growing", "stable"]
GROWTH_MM = 1.5
"""Growth is an increase of the mean diameter by more than this within 12 months."""
MANAGEMENT = {
    "1": "low-dose CT in 12 months",
    "2": "low-dose CT in 12 months",
    "3": "low-dose CT in 6 months",
    "4A": "low-dose CT in 3 months",
    "4B": "diagnostic work-up: PET/CT, tissue sampling or referral",
    "4X": "diagnostic work-up: PET/CT, tissue sampling or referral",
}


def lung_rads_category(
    nodule: NoduleType,
    mean_diameter_mm: float,
    course: Course = "baseline",
    solid_part_mm: float = 0.0,
    previous_category: str = "",
    suspicious_feature: bool = False,
) -> str:
    """Return the category "1", "2", "3", "4A", "4B" or "4X".

    `course` of a part-solid nodule speaks of its solid part. `suspicious_feature` is spiculation, enlarged nodes or another
    sign of cancer: it lifts category 3 and 4 to 4X. A stable nodule is judged by the category it had before: 3 becomes
    2 at its 6-month CT, 4A becomes 3 at its 3-month CT. Benign calcification, juxtapleural and airway nodules, cysts
    and category 0 are not covered.

    Source: ACR Lung-RADS v2022, assessment categories, November 2022.
    """
    if nodule == "none":
        return "1"
    if course == "stable":
        base = {"4A": "3", "3": "2", "2": "2"}.get(previous_category)
        if base is None:
            raise ToolError(f"A stable nodule needs previous_category 2, 3 or 4A, got {previous_category!r}.")
    elif nodule == "solid":
        base = _solid(mean_diameter_mm, course)
    elif nodule == "part_solid":
        base = _part_solid(mean_diameter_mm, solid_part_mm, course)
    else:
        base = "3" if mean_diameter_mm >= 30 and course != "growing" else "2"
    return "4X" if suspicious_feature and base in ("3", "4A", "4B") else base


def _solid(mm: float, course: Course) -> str:
    if course == "baseline":
        return "2" if mm < 6 else "3" if mm < 8 else "4A" if mm < 15 else "4B"
    if course == "growing":
        return "4A" if mm < 8 else "4B"
    return "2" if mm < 4 else "3" if mm < 6 else "4A" if mm < 8 else "4B"


def _part_solid(mm: float, solid_mm: float, course: Course) -> str:
    if course == "baseline":
        return "2" if mm < 6 else "3" if solid_mm < 6 else "4A" if solid_mm < 8 else "4B"
    if mm < 6 and course == "new":
        return "3"
    return "4A" if solid_mm < 4 else "4B"


@tool()
def lung_rads(
    nodule: NoduleType,
    mean_diameter_mm: Annotated[float, Field(ge=0, le=100)] = 0.0,
    course: Course = "baseline",
    solid_part_mm: Annotated[float, Field(ge=0, le=100)] = 0.0,
    previous_category: Literal["", "2", "3", "4A"] = "",
    suspicious_feature: bool = False,
) -> str:
    """Give the Lung-RADS 2022 category and management of the most suspicious nodule of a screening CT.

    Args:
        nodule: Kind of nodule.
        mean_diameter_mm: Mean of long and short axis, one decimal.
        course: baseline on a first screening CT; growing means more than 1.5 mm in mean diameter within 12 months.
        solid_part_mm: Mean diameter of the solid part of a part-solid nodule.
        previous_category: Of a stable nodule at its follow-up CT.
        suspicious_feature: Spiculation, enlarged nodes or another sign of cancer.
    """
    if nodule != "none" and mean_diameter_mm == 0:
        raise ToolError("mean_diameter_mm is 0; measure the nodule first.")
    if solid_part_mm > mean_diameter_mm:
        raise ToolError(f"solid_part_mm {solid_part_mm:g} is above mean_diameter_mm {mean_diameter_mm:g}.")
    category = lung_rads_category(
        nodule, mean_diameter_mm, course, solid_part_mm, previous_category, suspicious_feature
    )
    return f"Lung-RADS {category}: {MANAGEMENT[category]}"
