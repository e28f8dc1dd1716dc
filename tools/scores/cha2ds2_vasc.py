"""CHA2DS2-VASc: risk of stroke in atrial fibrillation."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

Sex = Literal["female", "male"]


def cha2ds2_vasc_points(
    age_years: float,
    sex: str,
    heart_failure: bool,
    hypertension: bool,
    diabetes: bool,
    stroke_or_embolism: bool,
    vascular_disease: bool,
) -> int:
    """Return the points, 0 to 9. Source: Lip et al., Chest 2010;137:263-272, table 2."""
    age = 2 if age_years >= 75 else 1 if age_years >= 65 else 0
    return age + (sex == "female") + heart_failure + hypertension + diabetes + 2 * stroke_or_embolism + vascular_disease


def anticoagulation_advice(points: int, sex: str) -> Literal["recommended", "reasonable", "not needed"]:
    """Return whether anticoagulation is recommended, reasonable or not needed.

    Source: ACC/AHA/ACCP/HRS guideline on atrial fibrillation, 2023: 2 or more in men and 3 or more in women (class 1); 1 in men
    and 2 in women (class 2a).
    """
    beyond_sex = points - (sex == "female")
    return "recommended" if beyond_sex >= 2 else "reasonable" if beyond_sex == 1 else "not needed"


@tool()
def cha2ds2_vasc(
    age_years: Annotated[float, Field(ge=18, le=110)],
    sex: Sex,
    heart_failure: bool,
    hypertension: bool,
    diabetes: bool,
    stroke_or_embolism: bool,
    vascular_disease: bool,
) -> str:
    """Score stroke risk in atrial fibrillation (CHA2DS2-VASc), with the 2023 ACC/AHA advice on anticoagulation.

    Args:
        age_years: Age in years.
        sex: Sex.
        heart_failure: Heart failure.
        hypertension: Hypertension.
        diabetes: Diabetes.
        stroke_or_embolism: Earlier stroke, TIA or systemic embolism.
        vascular_disease: Coronary or peripheral artery disease, or aortic plaque.
    """
    points = cha2ds2_vasc_points(
        age_years, sex, heart_failure, hypertension, diabetes, stroke_or_embolism, vascular_disease
    )
    return f"CHA2DS2-VASc {points}, anticoagulation {anticoagulation_advice(points, sex)}"
