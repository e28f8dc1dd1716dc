"""Revised Trauma Score: physiological severity of injury."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool

# Lowest value of each band and its code. Source: Champion et al., J Trauma 1989;29:623-629, table 1.
_GCS = ((13, 4), (9, 3), (6, 2), (4, 1))
_PRESSURE = ((90, 4), (76, 3), (50, 2), (1, 1))


def _code(value: float, bands: tuple[tuple[float, int], ...]) -> int:
    return next((code for lowest, code in bands if value >= lowest), 0)


def rts_codes(gcs: int, systolic_bp_mmhg: float, respiratory_rate_per_min: float) -> tuple[int, int, int]:
    """Return the coded values of GCS, pressure and breathing, 0 to 4 each."""
    breathing = 3 if respiratory_rate_per_min > 29 else _code(respiratory_rate_per_min, ((10, 4), (6, 2), (1, 1)))
    return _code(gcs, _GCS), _code(systolic_bp_mmhg, _PRESSURE), breathing


def rts_weighted(gcs: int, systolic_bp_mmhg: float, respiratory_rate_per_min: float) -> float:
    """Return the weighted score, 0 to 7.8408. Source: Champion et al., J Trauma 1989;29:623-629."""
    head, pressure, breathing = rts_codes(gcs, systolic_bp_mmhg, respiratory_rate_per_min)
    return 0.9368 * head + 0.7326 * pressure + 0.2908 * breathing


@tool()
def rts(
    gcs: Annotated[int, Field(ge=3, le=15)],
    systolic_bp_mmhg: Annotated[int, Field(ge=0, le=300)],
    respiratory_rate_per_min: Annotated[int, Field(ge=0, le=90)],
) -> str:
    """Compute the Revised Trauma Score, 0 to 7.84, and the triage sum, 0 to 12; a sum of 11 or less means trauma team.

    Args:
        gcs: Glasgow Coma Scale, 3 to 15.
        systolic_bp_mmhg: Systolic blood pressure in mmHg.
        respiratory_rate_per_min: Breaths per minute.
    """
    total = sum(rts_codes(gcs, systolic_bp_mmhg, respiratory_rate_per_min))
    return f"RTS {rts_weighted(gcs, systolic_bp_mmhg, respiratory_rate_per_min):.2f}, triage sum {total}/12"
