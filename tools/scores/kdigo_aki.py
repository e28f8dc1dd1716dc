"""KDIGO stage of acute kidney injury from creatinine and urine output."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool

Creatinine = Annotated[float, Field(ge=0.1, le=25)]
Hours = Annotated[float, Field(ge=0, le=240)]


def creatinine_stage(baseline_mg_dl: float, current_mg_dl: float, rise_48h_mg_dl: float = 0.0) -> int:
    """Return the stage, 0 to 3, by creatinine.

    Source: KDIGO Clinical Practice Guideline for Acute Kidney Injury, 2012, table 2: 1.5 times baseline within 7 days or a rise
    of 0.3 mg/dL within 48 hours is stage 1, 2.0 times stage 2, 3.0 times, or injury with 4.0 mg/dL, stage 3. The ratio is
    rounded to two digits.
    """
    ratio = round(current_mg_dl / baseline_mg_dl, 2)
    stage = 3 if ratio >= 3 else 2 if ratio >= 2 else 1 if ratio >= 1.5 or round(rise_48h_mg_dl, 2) >= 0.3 else 0
    return 3 if stage and current_mg_dl >= 4.0 else stage


def urine_stage(hours_below_half: float, hours_below_three_tenths: float = 0.0, hours_anuric: float = 0.0) -> int:
    """Return the stage, 0 to 3, by hours on end below 0.5 and 0.3 mL/kg/h and without urine. Source: as `creatinine_stage`."""
    if hours_below_three_tenths >= 24 or hours_anuric >= 12:
        return 3
    return 2 if hours_below_half >= 12 else 1 if hours_below_half >= 6 else 0


@tool()
def kdigo_aki(
    baseline_creatinine_mg_dl: Creatinine,
    current_creatinine_mg_dl: Creatinine,
    rise_48h_mg_dl: Annotated[float, Field(ge=0, le=25)] = 0.0,
    hours_below_0_5_ml_kg_h: Hours = 0.0,
    hours_below_0_3_ml_kg_h: Hours = 0.0,
    hours_without_urine: Hours = 0.0,
    on_dialysis: bool = False,
) -> str:
    """Stage acute kidney injury by KDIGO 2012, 0 (none) to 3; the worse of creatinine and urine counts.

    Args:
        baseline_creatinine_mg_dl: Creatinine before this illness.
        current_creatinine_mg_dl: Highest creatinine of the last 7 days.
        rise_48h_mg_dl: Largest rise within any 48 hours.
        hours_below_0_5_ml_kg_h: Longest run of hours with urine below 0.5 mL/kg/h.
        hours_below_0_3_ml_kg_h: Longest run of hours below 0.3 mL/kg/h.
        hours_without_urine: Longest run of hours without urine.
        on_dialysis: Dialysis begun for this injury.
    """
    by_creatinine = creatinine_stage(baseline_creatinine_mg_dl, current_creatinine_mg_dl, rise_48h_mg_dl)
    by_urine = urine_stage(hours_below_0_5_ml_kg_h, hours_below_0_3_ml_kg_h, hours_without_urine)
    stage = 3 if on_dialysis else max(by_creatinine, by_urine)
    ratio = current_creatinine_mg_dl / baseline_creatinine_mg_dl
    return f"KDIGO stage {stage}: by creatinine {by_creatinine} ({ratio:.2f} x baseline), by urine {by_urine}"
