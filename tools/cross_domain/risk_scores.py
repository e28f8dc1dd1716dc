"""Scores that the pathways use: Glasgow-Blatchford, simplified PESI and the paracetamol treatment line."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool


def blatchford_points(
    urea_nitrogen_mg_dl: float,
    hemoglobin_g_dl: float,
    systolic_bp_mmhg: float,
    heart_rate_per_min: float,
    sex: str,
    melaena: bool,
    syncope: bool,
    liver_disease: bool,
    heart_failure: bool,
) -> int:
    """Return the Glasgow-Blatchford score, 0 to 23.

    Source: Blatchford et al., Lancet 2000;356:1318-1321, table 4; urea bands 6.5, 8, 10 and 25 mmol/L as urea nitrogen
    18.2, 22.4, 28 and 70 mg/dL.
    """
    points = next((p for limit, p in ((70, 6), (28, 4), (22.4, 3), (18.2, 2)) if urea_nitrogen_mg_dl >= limit), 0)
    bands = ((10, 6), (12, 3), (13, 1)) if sex == "male" else ((10, 6), (12, 1))
    points += next((p for limit, p in bands if hemoglobin_g_dl < limit), 0)
    points += next((p for limit, p in ((90, 3), (100, 2), (110, 1)) if systolic_bp_mmhg < limit), 0)
    points += heart_rate_per_min >= 100
    return points + melaena + 2 * (syncope + liver_disease + heart_failure)


def simplified_pesi_points(
    age_years: float,
    cancer: bool,
    heart_or_lung_disease: bool,
    heart_rate_per_min: float,
    systolic_bp_mmhg: float,
    spo2_percent: float,
) -> int:
    """Return the simplified PESI, 0 to 6; 0 is low risk.

    Source: Jimenez et al., Arch Intern Med 2010;170:1383-1389, table 1.
    """
    return (
        (age_years > 80)
        + cancer
        + heart_or_lung_disease
        + (heart_rate_per_min >= 110)
        + (systolic_bp_mmhg < 100)
        + (spo2_percent < 90)
    )


def treatment_line_mg_l(hours: float) -> float:
    """Return the paracetamol concentration in mg/L from which acetylcysteine is given, 4 to 24 hours after ingestion.

    150 mg/L at 4 hours, halving every 4 hours. Source: Rumack and Matthew, Pediatrics 1975;55:871, lowered by 25 %;
    kept by Dart et al., JAMA Netw Open 2023;6:e2327739.
    """
    return 150.0 * 2.0 ** (-(hours - 4.0) / 4.0)


@tool()
def blatchford_score(
    urea_nitrogen_mg_dl: Annotated[float, Field(ge=1, le=250)],
    hemoglobin_g_dl: Annotated[float, Field(ge=2, le=22)],
    systolic_bp_mmhg: Annotated[int, Field(ge=30, le=300)],
    heart_rate_per_min: Annotated[int, Field(ge=10, le=300)],
    sex: Literal["female", "male"],
    melaena: bool = False,
    syncope: bool = False,
    liver_disease: bool = False,
    heart_failure: bool = False,
) -> str:
    """Score upper gastrointestinal bleeding with Glasgow-Blatchford, 0 to 23; 0 or 1 is very low risk.

    Args:
        urea_nitrogen_mg_dl: Blood urea nitrogen in mg/dL.
        hemoglobin_g_dl: Haemoglobin in g/dL.
        systolic_bp_mmhg: Systolic blood pressure in mmHg.
        heart_rate_per_min: Beats per minute.
        sex: Sex.
        melaena: Black stool.
        syncope: Fainted.
        liver_disease: Known or suspected liver disease.
        heart_failure: Heart failure.
    """
    points = blatchford_points(
        urea_nitrogen_mg_dl, hemoglobin_g_dl, systolic_bp_mmhg, heart_rate_per_min, sex, melaena, syncope, liver_disease,
        heart_failure,
    )  # fmt: skip
    return f"Glasgow-Blatchford {points}, {'very low risk' if points <= 1 else 'not low risk'}"


@tool()
def simplified_pesi(
    age_years: Annotated[float, Field(ge=0, le=110)],
    heart_rate_per_min: Annotated[int, Field(ge=10, le=300)],
    systolic_bp_mmhg: Annotated[int, Field(ge=30, le=300)],
    spo2_percent: Annotated[int, Field(ge=40, le=100)],
    cancer: bool = False,
    heart_or_lung_disease: bool = False,
) -> str:
    """Score pulmonary embolism with the simplified PESI, 0 to 6; 0 is low risk.

    Args:
        age_years: Age in years.
        heart_rate_per_min: Beats per minute.
        systolic_bp_mmhg: Systolic blood pressure in mmHg.
        spo2_percent: Oxygen saturation in percent.
        cancer: Active or past cancer.
        heart_or_lung_disease: Chronic heart failure or lung disease.
    """
    points = simplified_pesi_points(
        age_years, cancer, heart_or_lung_disease, heart_rate_per_min, systolic_bp_mmhg, spo2_percent
    )
    return f"simplified PESI {points}, {'low risk' if points == 0 else 'not low risk'}"


@tool()
def paracetamol_line(
    hours_since_ingestion: Annotated[float, Field(ge=0, le=72)], level_mg_l: Annotated[float, Field(ge=0, le=2000)]
) -> str:
    """Compare a paracetamol concentration with the treatment line (150 mg/L at 4 hours).

    Args:
        hours_since_ingestion: Hours from ingestion to the blood sample.
        level_mg_l: Concentration in mg/L.
    """
    if not 4 <= hours_since_ingestion <= 24:
        return "The line holds from 4 to 24 hours after a single ingestion; this sample cannot be read on it."
    line = treatment_line_mg_l(hours_since_ingestion)
    return (
        f"line {line:.0f} mg/L, sample {level_mg_l:g} mg/L: {'on or above' if level_mg_l >= line else 'below'} the line"
    )
