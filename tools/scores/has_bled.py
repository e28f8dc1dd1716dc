"""HAS-BLED: risk of major bleeding under anticoagulation for atrial fibrillation."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

HIGH_CREATININE_MG_DL = 2.26
"""200 micromol/L."""


def has_bled_points(
    age_years: float,
    systolic_bp_mmhg: float,
    creatinine_mg_dl: float,
    dialysis_or_transplant: bool,
    liver_disease: bool,
    stroke: bool,
    bleeding_or_anaemia: bool,
    labile_inr: bool,
    antiplatelet_or_nsaid: bool,
    alcohol: bool,
) -> int:
    """Return the points, 0 to 9.

    Source: Pisters et al., Chest 2010;138:1093-1100: systolic pressure above 160 mmHg, dialysis, transplant or creatinine of
    200 micromol/L or more, cirrhosis or the like, stroke, bleeding or predisposition, labile INR, age above 65 years,
    antiplatelets or NSAIDs, alcohol of 8 drinks a week or more.
    """
    return (
        (systolic_bp_mmhg > 160)
        + (dialysis_or_transplant or creatinine_mg_dl >= HIGH_CREATININE_MG_DL)
        + liver_disease
        + stroke
        + bleeding_or_anaemia
        + labile_inr
        + (age_years > 65)
        + antiplatelet_or_nsaid
        + alcohol
    )


def has_bled_band(points: int) -> Literal["not high", "high"]:
    """Return high from 3 points on. Source: Pisters et al., 2010."""
    return "high" if points >= 3 else "not high"


@tool()
def has_bled(
    age_years: Annotated[float, Field(ge=18, le=110)],
    systolic_bp_mmhg: Annotated[int, Field(ge=30, le=300)],
    creatinine_mg_dl: Annotated[float, Field(ge=0.1, le=25)],
    liver_disease: bool,
    stroke: bool,
    bleeding_or_anaemia: bool,
    antiplatelet_or_nsaid: bool,
    alcohol: bool,
    labile_inr: bool = False,
    dialysis_or_transplant: bool = False,
) -> str:
    """Score bleeding risk under anticoagulation (HAS-BLED): 3 or more is high.

    Args:
        age_years: Age in years.
        systolic_bp_mmhg: Systolic blood pressure in mmHg.
        creatinine_mg_dl: Serum creatinine in mg/dL.
        liver_disease: Cirrhosis, or bilirubin over twice with enzymes over three times normal.
        stroke: Earlier stroke.
        bleeding_or_anaemia: Earlier major bleeding, or anaemia.
        antiplatelet_or_nsaid: Takes an antiplatelet or NSAID.
        alcohol: Eight drinks a week or more.
        labile_inr: On warfarin, under 60 % of time in range.
        dialysis_or_transplant: Dialysis or kidney transplant.
    """
    points = has_bled_points(
        age_years,
        systolic_bp_mmhg,
        creatinine_mg_dl,
        dialysis_or_transplant,
        liver_disease,
        stroke,
        bleeding_or_anaemia,
        labile_inr,
        antiplatelet_or_nsaid,
        alcohol,
    )
    return f"HAS-BLED {points}, {has_bled_band(points)} bleeding risk"
