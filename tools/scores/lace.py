"""LACE: risk of death or unplanned readmission within 30 days of discharge."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.toolkit import tool

LaceComorbidity = Literal[
    "myocardial_infarction", "cerebrovascular_disease", "peripheral_vascular_disease", "diabetes", "heart_failure",
    "diabetes_with_organ_damage", "chronic_pulmonary_disease", "mild_liver_or_renal_disease", "any_tumour", "dementia",
    "connective_tissue_disease", "aids", "moderate_or_severe_liver_or_renal_disease", "metastatic_tumour",
]  # fmt: skip
LACE_WEIGHTS: dict[str, int] = {
    "myocardial_infarction": 1,
    "cerebrovascular_disease": 1,
    "peripheral_vascular_disease": 1,
    "diabetes": 1,
    "heart_failure": 2,
    "diabetes_with_organ_damage": 2,
    "chronic_pulmonary_disease": 2,
    "mild_liver_or_renal_disease": 2,
    "any_tumour": 2,
    "dementia": 3,
    "connective_tissue_disease": 3,
    "aids": 4,
    "moderate_or_severe_liver_or_renal_disease": 4,
    "metastatic_tumour": 6,
}
"""Source: van Walraven et al., CMAJ 2010;182:551-557, figure 1 (weights after Schneeweiss)."""
_GRADES = (
    ("diabetes", "diabetes_with_organ_damage"),
    ("mild_liver_or_renal_disease", "moderate_or_severe_liver_or_renal_disease"),
    ("any_tumour", "metastatic_tumour"),
)


def lace_comorbidity_sum(comorbidities: set[str]) -> int:
    """Return the sum of weights before it is turned into points; of two grades of an illness only the higher counts."""
    return sum(LACE_WEIGHTS[name] for name in comorbidities - {low for low, high in _GRADES if high in comorbidities})


def lace_parts(days: int, acute: bool, comorbidity_sum: int, emergency_visits: int) -> dict[str, int]:
    """Return the points of length of stay, acuteness, comorbidity and emergency visits.

    Source: van Walraven et al., CMAJ 2010;182:551-557.
    """
    stay = days if days <= 3 else 4 if days <= 6 else 5 if days <= 13 else 7
    return {
        "stay": stay,
        "acute": 3 if acute else 0,
        "comorbidity": comorbidity_sum if comorbidity_sum <= 3 else 5,
        "emergency_visits": min(emergency_visits, 4),
    }


def lace_risk(points: int) -> str:
    """Return low (0 to 4), moderate (5 to 9) or high (10 and over).

    10 and over as high: van Walraven et al. 2010 and Gruneir et al., Open Med 2011;5:e104; below 5 as low is common usage.
    """
    return "high" if points >= 10 else "moderate" if points >= 5 else "low"


@tool()
def lace(
    length_of_stay_days: Annotated[int, Field(ge=0, le=365)],
    acute_admission: bool,
    comorbidities: Annotated[list[LaceComorbidity], Field(max_length=14)],
    emergency_visits_6_months: Annotated[int, Field(ge=0, le=100)],
) -> str:
    """Score the risk of readmission or death within 30 days with LACE, 0 to 19; 10 and over is high.

    Args:
        length_of_stay_days: Date of discharge minus date of admission.
        acute_admission: Admitted as an emergency.
        comorbidities: Illnesses that count; of two grades of one only the higher is added.
        emergency_visits_6_months: Emergency visits in the six months before admission, not the one that led to it.
    """
    if len(set(comorbidities)) != len(comorbidities):
        raise ToolError("comorbidities names one illness twice; name each once.")
    parts = lace_parts(
        length_of_stay_days, acute_admission, lace_comorbidity_sum(set(comorbidities)), emergency_visits_6_months
    )
    total = sum(parts.values())
    return f"LACE {total}, {lace_risk(total)} risk (" + ", ".join(f"{name} {n}" for name, n in parts.items()) + ")"
