"""Fleischner Society 2017: follow-up of pulmonary nodules found by chance on CT."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.toolkit import tool

Nodule = Literal["solid", "ground_glass", "part_solid"]
FollowUp = Literal[
    "not_applicable", "none", "optional_ct_12_months", "ct_6_to_12_months", "ct_3_to_6_months",
    "ct_3_months_pet_or_biopsy",
]  # fmt: skip


def fleischner_applies(age_years: float, known_cancer: bool, immunosuppressed: bool) -> bool:
    """Say whether the guideline speaks of this patient: 35 years and over, no known cancer, no immunosuppression."""
    return age_years >= 35 and not known_cancer and not immunosuppressed


def fleischner_follow_up(nodule: Nodule, mean_diameter_mm: float, is_multiple: bool, is_high_risk: bool) -> FollowUp:
    """Return the first step for the largest nodule; its diameter, the mean of both axes, is rounded to whole mm.

    Source: MacMahon et al., Radiology 2017;284(1):228-243, table 1. Later rounds of follow-up are left out.
    """
    mm = int(mean_diameter_mm + 0.5)
    if nodule == "solid":
        if mm < 6:
            return "optional_ct_12_months" if is_high_risk else "none"
        if is_multiple:
            return "ct_3_to_6_months"
        return "ct_6_to_12_months" if mm <= 8 else "ct_3_months_pet_or_biopsy"
    if is_multiple:
        return "ct_3_to_6_months"
    if mm < 6:
        return "none"
    return "ct_6_to_12_months" if nodule == "ground_glass" else "ct_3_to_6_months"


@tool()
def fleischner_2017(
    age_years: Annotated[float, Field(ge=0, le=110)],
    nodule: Nodule,
    mean_diameter_mm: Annotated[float, Field(gt=0, le=100)],
    is_multiple: bool,
    is_high_risk: bool,
    known_cancer: bool,
    immunosuppressed: bool,
) -> str:
    """Give the first follow-up of an incidental lung nodule by Fleischner 2017.

    Args:
        age_years: Age in years.
        nodule: Kind of the largest nodule.
        mean_diameter_mm: Mean of long and short axis.
        is_multiple: More than one nodule.
        is_high_risk: Smoking, upper lobe, emphysema, fibrosis, family history or spiculation, as the reader judges.
        known_cancer: Any known primary cancer.
        immunosuppressed: Immunosuppression.
    """
    if mean_diameter_mm > 30:
        raise ToolError(f"mean_diameter_mm {mean_diameter_mm:g} is above 30: a mass, for which this table is not made.")
    if not fleischner_applies(age_years, known_cancer, immunosuppressed):
        return "Fleischner 2017: not_applicable (under 35 years, known cancer or immunosuppressed)"
    return f"Fleischner 2017: {fleischner_follow_up(nodule, mean_diameter_mm, is_multiple, is_high_risk)}"
