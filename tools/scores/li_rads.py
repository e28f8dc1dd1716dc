"""LI-RADS v2018: liver observations on CT or MRI of patients at risk of hepatocellular carcinoma."""

from typing import Annotated

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.toolkit import tool

THRESHOLD_GROWTH_PERCENT = 50
THRESHOLD_GROWTH_MONTHS = 6
MANAGEMENT = {
    "LR-3": "repeat imaging in 3 to 6 months",
    "LR-4": "multidisciplinary discussion, biopsy or early repeat imaging",
    "LR-5": "definite HCC: multidisciplinary discussion of treatment",
}


def is_threshold_growth(before_mm: float, now_mm: float, interval_months: float) -> bool:
    """Say whether the diameter grew by 50 % or more within 6 months. Source: ACR CT/MRI LI-RADS v2018."""
    return now_mm >= 1.5 * before_mm and interval_months <= THRESHOLD_GROWTH_MONTHS


def li_rads_table(size_mm: float, nonrim_aphe: bool, washout: bool, capsule: bool, threshold_growth: bool) -> str:
    """Return LR-3, LR-4 or LR-5 by the diagnostic table.

    Source: ACR CT/MRI LI-RADS v2018 core, diagnostic table. With 10 to 19 mm, arterial enhancement and one more feature, an
    enhancing capsule gives LR-4, nonperipheral washout or threshold growth LR-5. LR-1, LR-2, LR-M, LR-TIV and ancillary
    features are left out.
    """
    more = washout + capsule + threshold_growth
    if not nonrim_aphe:
        return "LR-4" if more >= 2 or (more == 1 and size_mm >= 20) else "LR-3"
    if size_mm >= 20:
        return "LR-5" if more else "LR-4"
    if size_mm >= 10:
        return "LR-3" if not more else "LR-4" if more == 1 and capsule else "LR-5"
    return "LR-4" if more else "LR-3"


@tool()
def li_rads(
    is_at_risk: bool,
    age_years: Annotated[float, Field(ge=0, le=110)],
    size_mm: Annotated[float, Field(gt=0, le=300)],
    nonrim_aphe: bool,
    washout: bool,
    capsule: bool,
    threshold_growth: bool,
) -> str:
    """Give the LI-RADS v2018 category of a liver observation by the main table.

    Args:
        is_at_risk: Cirrhosis, chronic hepatitis B, or hepatocellular carcinoma now or before.
        age_years: Age in years.
        size_mm: Largest outer diameter.
        nonrim_aphe: Nonrim arterial phase hyperenhancement.
        washout: Nonperipheral washout in the portal venous phase.
        capsule: Enhancing capsule.
        threshold_growth: Diameter up by 50 % or more within 6 months.
    """
    if not is_at_risk or age_years < 18:
        raise ToolError("LI-RADS is made for adults at risk only: report not_applicable and suggest characterisation.")
    category = li_rads_table(size_mm, nonrim_aphe, washout, capsule, threshold_growth)
    return f"{category}: {MANAGEMENT[category]}"
