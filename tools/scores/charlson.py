"""Charlson comorbidity index: how much other illness weighs on survival."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.toolkit import tool

Comorbidity = Literal[
    "myocardial_infarction", "heart_failure", "peripheral_vascular_disease", "cerebrovascular_disease", "dementia",
    "chronic_pulmonary_disease", "connective_tissue_disease", "peptic_ulcer", "mild_liver_disease", "diabetes",
    "hemiplegia", "moderate_or_severe_renal_disease", "diabetes_with_organ_damage", "solid_tumour", "leukaemia",
    "lymphoma", "moderate_or_severe_liver_disease", "metastatic_tumour", "aids",
]  # fmt: skip
WEIGHTS: dict[str, int] = {
    "myocardial_infarction": 1,
    "heart_failure": 1,
    "peripheral_vascular_disease": 1,
    "cerebrovascular_disease": 1,
    "dementia": 1,
    "chronic_pulmonary_disease": 1,
    "connective_tissue_disease": 1,
    "peptic_ulcer": 1,
    "mild_liver_disease": 1,
    "diabetes": 1,
    "hemiplegia": 2,
    "moderate_or_severe_renal_disease": 2,
    "diabetes_with_organ_damage": 2,
    "solid_tumour": 2,
    "leukaemia": 2,
    "lymphoma": 2,
    "moderate_or_severe_liver_disease": 3,
    "metastatic_tumour": 6,
    "aids": 6,
}
"""Source: Charlson et al., J Chronic Dis 1987;40:373-383, table 3 (original weights)."""
GRADES = (
    ("diabetes", "diabetes_with_organ_damage"),
    ("mild_liver_disease", "moderate_or_severe_liver_disease"),
    ("solid_tumour", "metastatic_tumour"),
)
"""Lower and higher grade of one illness; only the higher counts."""


def counted(comorbidities: set[str]) -> set[str]:
    """Return the comorbidities that count: of two grades of an illness only the higher."""
    return comorbidities - {low for low, high in GRADES if high in comorbidities}


def charlson_points(comorbidities: set[str]) -> int:
    """Return the index without age."""
    return sum(WEIGHTS[name] for name in counted(comorbidities))


def age_points(age_years: float) -> int:
    """Return one point a decade from 50 years on. Source: Charlson et al., J Clin Epidemiol 1994;47:1245-1251."""
    return max(0, int(age_years) // 10 - 4)


@tool()
def charlson(
    comorbidities: Annotated[list[Comorbidity], Field(max_length=19)], age_years: Annotated[float, Field(ge=18, le=99)]
) -> str:
    """Add up the Charlson comorbidity index (1987 weights), without and with age points (1994).

    Args:
        comorbidities: Long-standing illnesses that count; of two grades of one only the higher is added.
        age_years: Age.
    """
    if len(set(comorbidities)) != len(comorbidities):
        raise ToolError("comorbidities names one illness twice; name each once.")
    points, age = charlson_points(set(comorbidities)), age_points(age_years)
    return f"Charlson {points} without age, {points + age} with age (age {age})"
