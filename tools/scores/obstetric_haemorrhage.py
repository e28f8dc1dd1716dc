"""Postpartum haemorrhage: obstetric shock index and stage."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool

RAISED, URGENT = 0.9, 1.7


def obstetric_shock_band(heart_rate_per_min: float, systolic_bp_mmhg: float) -> str:
    """Return normal, raised (0.9 and above) or urgent (1.7 and above) for heart rate over systolic pressure.

    Source: Nathan et al., BJOG 2015;122:268-275, women with postpartum haemorrhage.
    """
    ratio = heart_rate_per_min / systolic_bp_mmhg
    return "urgent" if ratio >= URGENT else "raised" if ratio >= RAISED else "normal"


def has_abnormal_vital_signs(
    heart_rate_per_min: float, systolic_bp_mmhg: float, diastolic_bp_mmhg: float, spo2_percent: float
) -> bool:
    """Say whether vital signs alone call for the next stage.

    Source: CMQCC Obstetric Hemorrhage Toolkit, version 3.0, 2022: pulse 110 and above, pressure 85/45 and below, SpO2
    below 95 %, or shock index above 0.9.
    """
    shock = heart_rate_per_min / systolic_bp_mmhg > RAISED
    return heart_rate_per_min >= 110 or systolic_bp_mmhg <= 85 or diastolic_bp_mmhg <= 45 or spo2_percent < 95 or shock


def bleeding_stage(blood_loss_ml: float, abnormal_vital_signs: bool, uterotonics_given: int = 0) -> int:
    """Return the stage, 0 to 3, of bleeding after birth; collapse (stage 4) is no matter of counting.

    Source: ACOG Safe Motherhood Initiative, obstetric hemorrhage checklist, 2020: 1 from 500 mL after vaginal birth (1,000
    mL by definition) with normal vital signs, 2 up to 1,500 mL with two uterotonics or more given, 3 above 1,500 mL or with
    abnormal vital signs. 1,000 mL and above without signs counts as stage 2 here: the bleeding goes on.
    """
    if blood_loss_ml < 500:
        return 0
    if blood_loss_ml > 1500 or abnormal_vital_signs:
        return 3
    return 2 if blood_loss_ml >= 1000 or uterotonics_given >= 2 else 1


@tool()
def obstetric_shock_index(
    heart_rate_per_min: Annotated[int, Field(ge=10, le=300)], systolic_bp_mmhg: Annotated[int, Field(ge=30, le=300)]
) -> str:
    """Compute the obstetric shock index; 0.9 and above raised, 1.7 and above urgent.

    Args:
        heart_rate_per_min: Beats per minute.
        systolic_bp_mmhg: Systolic blood pressure in mmHg.
    """
    band = obstetric_shock_band(heart_rate_per_min, systolic_bp_mmhg)
    return f"obstetric shock index {heart_rate_per_min / systolic_bp_mmhg:.2f}, {band}"


@tool()
def haemorrhage_stage(
    blood_loss_ml: Annotated[int, Field(ge=0, le=10000)],
    heart_rate_per_min: Annotated[int, Field(ge=10, le=300)],
    systolic_bp_mmhg: Annotated[int, Field(ge=30, le=300)],
    diastolic_bp_mmhg: Annotated[int, Field(ge=15, le=200)],
    spo2_percent: Annotated[int, Field(ge=40, le=100)] = 98,
    uterotonics_given: Annotated[int, Field(ge=0, le=6)] = 0,
) -> str:
    """Stage bleeding after vaginal birth, 0 to 3.

    Args:
        blood_loss_ml: Measured loss so far.
        heart_rate_per_min: Beats per minute.
        systolic_bp_mmhg: Systolic pressure.
        diastolic_bp_mmhg: Diastolic pressure.
        spo2_percent: Oxygen saturation.
        uterotonics_given: How many different uterotonics.
    """
    abnormal = has_abnormal_vital_signs(heart_rate_per_min, systolic_bp_mmhg, diastolic_bp_mmhg, spo2_percent)
    stage = bleeding_stage(blood_loss_ml, abnormal, uterotonics_given)
    return f"stage {stage}" + ("; abnormal vital signs" if abnormal else "")
