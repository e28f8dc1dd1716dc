"""CURB-65: severity of community-acquired pneumonia in adults."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

HIGH_UREA_NITROGEN_MG_DL = 19.6
"""7 mmol/L of urea, at 2.8 mg/dL of urea nitrogen each."""


def curb65_points(
    confusion: bool,
    urea_nitrogen_mg_dl: float,
    respiratory_rate_per_min: float,
    systolic_bp_mmhg: float,
    diastolic_bp_mmhg: float,
    age_years: float,
) -> int:
    """Return the points, 0 to 5.

    Source: Lim et al., Thorax 2003;58:377-382: new confusion, urea above 7 mmol/L, 30 breaths a minute or more, systolic
    pressure below 90 or diastolic of 60 mmHg or less, 65 years or more.
    """
    return (
        confusion
        + (urea_nitrogen_mg_dl > HIGH_UREA_NITROGEN_MG_DL)
        + (respiratory_rate_per_min >= 30)
        + (systolic_bp_mmhg < 90 or diastolic_bp_mmhg <= 60)
        + (age_years >= 65)
    )


def curb65_band(points: int) -> Literal["low", "moderate", "high"]:
    """Return low (0 or 1), moderate (2) or high (3 to 5). Source: Lim et al., 2003; BTS guideline, 2009."""
    return "low" if points <= 1 else "moderate" if points == 2 else "high"


@tool()
def curb65(
    confusion: bool,
    urea_nitrogen_mg_dl: Annotated[float, Field(ge=1, le=250)],
    respiratory_rate_per_min: Annotated[int, Field(ge=0, le=90)],
    systolic_bp_mmhg: Annotated[int, Field(ge=30, le=300)],
    diastolic_bp_mmhg: Annotated[int, Field(ge=10, le=200)],
    age_years: Annotated[float, Field(ge=18, le=110)],
) -> str:
    """Score an adult's community-acquired pneumonia with CURB-65: 0-1 low, 2 moderate, 3-5 high risk.

    Args:
        confusion: New confusion (GCS below 15 counts).
        urea_nitrogen_mg_dl: Blood urea nitrogen in mg/dL.
        respiratory_rate_per_min: Breaths per minute.
        systolic_bp_mmhg: Systolic blood pressure in mmHg.
        diastolic_bp_mmhg: Diastolic blood pressure in mmHg.
        age_years: Age in years.
    """
    points = curb65_points(
        confusion, urea_nitrogen_mg_dl, respiratory_rate_per_min, systolic_bp_mmhg, diastolic_bp_mmhg, age_years
    )
    return f"CURB-65 {points}, {curb65_band(points)} risk"
