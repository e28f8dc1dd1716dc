"""Estimated fetal weight from ultrasound, and its place among fetuses of the same age."""

from math import exp
from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool


def fetal_weight_g(bpd_mm: float, hc_mm: float, ac_mm: float, fl_mm: float) -> float:
    """Return the estimated weight in grams from four measurements in mm.

    Source: Hadlock et al., Am J Obstet Gynecol 1985;151:333-337, model with BPD, HC, AC and FL (in cm there).
    """
    bpd, hc, ac, fl = bpd_mm / 10, hc_mm / 10, ac_mm / 10, fl_mm / 10
    log10 = 1.3596 - 0.00386 * ac * fl + 0.0064 * hc + 0.00061 * bpd * ac + 0.0424 * ac + 0.174 * fl
    return float(10**log10)


def median_weight_g(gestation_weeks: float) -> float:
    """Return the 50th percentile of weight. Source: Hadlock et al., Radiology 1991;181:129-133."""
    return exp(0.578 + 0.332 * gestation_weeks - 0.00354 * gestation_weeks**2)


def growth_band(weight_g: float, gestation_weeks: float) -> str:
    """Return below_3rd, 3rd_to_9th, 10th_to_90th or above_90th percentile.

    Source: as above; its table sets the 3rd, 10th and 90th at 0.75, 0.83 and 1.17 of the median.
    """
    ratio = weight_g / median_weight_g(gestation_weeks)
    if ratio < 0.75:
        return "below_3rd"
    return "3rd_to_9th" if ratio < 0.83 else "10th_to_90th" if ratio <= 1.17 else "above_90th"


@tool()
def fetal_weight_hadlock(
    bpd_mm: Annotated[float, Field(ge=15, le=120)],
    hc_mm: Annotated[float, Field(ge=60, le=400)],
    ac_mm: Annotated[float, Field(ge=50, le=450)],
    fl_mm: Annotated[float, Field(ge=8, le=90)],
    gestation_weeks: Annotated[float, Field(ge=14, le=42)],
) -> str:
    """Estimate fetal weight (Hadlock 1985) and its percentile band (Hadlock 1991).

    Args:
        bpd_mm: Biparietal diameter.
        hc_mm: Head circumference.
        ac_mm: Abdominal circumference.
        fl_mm: Femur length.
        gestation_weeks: Weeks with days as a fraction, 30w3d is 30.4.
    """
    weight = fetal_weight_g(bpd_mm, hc_mm, ac_mm, fl_mm)
    return f"EFW {weight:.0f} g, {growth_band(weight, gestation_weeks)} percentile"
