"""Shock index: heart rate over systolic pressure."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool


def shock_index_ratio(heart_rate_per_min: float, systolic_bp_mmhg: float) -> float:
    """Return heart rate divided by systolic blood pressure, in (beats/min)/mmHg.

    Source: Allgower and Burri, Dtsch Med Wochenschr 1967;92:1947-1950; above 0.9 raised in adults: Rady et al., Ann Emerg
    Med 1994;24:685-690.
    """
    return heart_rate_per_min / systolic_bp_mmhg


@tool()
def shock_index(
    heart_rate_per_min: Annotated[int, Field(ge=10, le=300)], systolic_bp_mmhg: Annotated[int, Field(ge=30, le=300)]
) -> str:
    """Compute an adult's shock index; above 0.9 suggests hidden shock.

    Args:
        heart_rate_per_min: Beats per minute.
        systolic_bp_mmhg: Systolic blood pressure in mmHg.
    """
    ratio = shock_index_ratio(heart_rate_per_min, systolic_bp_mmhg)
    return f"shock index {ratio:.2f}, {'raised' if ratio > 0.9 else 'not raised'}"
