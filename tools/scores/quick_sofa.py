"""qSOFA: bedside risk in suspected infection."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool


def qsofa_points(respiratory_rate_per_min: float, systolic_bp_mmhg: float, gcs: int) -> int:
    """Return the points, 0 to 3. Source: Singer et al., JAMA 2016;315:801-810, box 4; altered mentation is GCS below 15."""
    return (respiratory_rate_per_min >= 22) + (systolic_bp_mmhg <= 100) + (gcs < 15)


@tool()
def qsofa(
    respiratory_rate_per_min: Annotated[int, Field(ge=0, le=90)],
    systolic_bp_mmhg: Annotated[int, Field(ge=30, le=300)],
    gcs: Annotated[int, Field(ge=3, le=15)],
) -> str:
    """Score bedside sepsis risk with qSOFA, 0 to 3; two or more is high risk.

    Args:
        respiratory_rate_per_min: Breaths per minute.
        systolic_bp_mmhg: Systolic blood pressure in mmHg.
        gcs: Glasgow Coma Scale, 3 to 15.
    """
    points = qsofa_points(respiratory_rate_per_min, systolic_bp_mmhg, gcs)
    return f"qSOFA {points}, {'high risk' if points >= 2 else 'not high risk'}"
