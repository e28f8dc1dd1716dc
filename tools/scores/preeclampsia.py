"""Hypertension in pregnancy by ACOG's criteria."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

HypertensiveDisorder = Literal[
    "no_hypertension",
    "chronic_hypertension",
    "gestational_hypertension",
    "preeclampsia",
    "severe_preeclampsia",
    "superimposed_preeclampsia",
]
MEDICAL_ONSET_WEEKS = 20


@dataclass(frozen=True, kw_only=True)
class Signs:
    """What the criteria look at; a value that was not measured keeps its normal default."""

    systolic_bp_mmhg: int
    diastolic_bp_mmhg: int
    protein_creatinine_ratio: float = 0.1
    """mg/mg."""
    platelets_10e9_l: float = 250
    ast_times_upper_limit: float = 0.5
    creatinine_mg_dl: float = 0.6
    has_symptom: bool = False
    """New headache that does not yield to medicine, visual disturbance, or severe upper abdominal pain."""
    pulmonary_oedema: bool = False


def is_severe_pressure(systolic_bp_mmhg: int, diastolic_bp_mmhg: int) -> bool:
    """Say whether a pressure is in the severe range: 160 systolic or 110 diastolic and above."""
    return systolic_bp_mmhg >= 160 or diastolic_bp_mmhg >= 110


def organ_features(signs: Signs) -> list[str]:
    """Return the organ findings that make pre-eclampsia severe, and make it without proteinuria.

    Source: ACOG practice bulletin 222, 2020, boxes 2 and 3. Liver enzymes above twice the upper limit, creatinine above
    1.1 mg/dL, platelets below 100.
    """
    found = {
        "platelets below 100": signs.platelets_10e9_l < 100,
        "liver enzymes above twice the limit": signs.ast_times_upper_limit > 2,
        "creatinine above 1.1": signs.creatinine_mg_dl > 1.1,
        "symptoms": signs.has_symptom,
        "pulmonary oedema": signs.pulmonary_oedema,
    }
    return [name for name, present in found.items() if present]


def classify(signs: Signs, *, onset_before_20_weeks: bool) -> HypertensiveDisorder:
    """Return the disorder. New gestational hypertension in the severe range counts as severe pre-eclampsia.

    Source: ACOG practice bulletin 222, 2020; superimposed: practice bulletin 203, 2019.
    """
    severe = is_severe_pressure(signs.systolic_bp_mmhg, signs.diastolic_bp_mmhg)
    organs, protein = organ_features(signs), signs.protein_creatinine_ratio >= 0.3
    if onset_before_20_weeks:
        return "superimposed_preeclampsia" if protein or organs else "chronic_hypertension"
    if signs.systolic_bp_mmhg < 140 and signs.diastolic_bp_mmhg < 90:
        return "no_hypertension"
    if severe or organs:
        return "severe_preeclampsia"
    return "preeclampsia" if protein else "gestational_hypertension"


@tool()
def preeclampsia_criteria(
    systolic_bp_mmhg: Annotated[int, Field(ge=60, le=300)],
    diastolic_bp_mmhg: Annotated[int, Field(ge=30, le=200)],
    onset_before_20_weeks: bool,
    protein_creatinine_ratio: Annotated[float, Field(ge=0, le=50)] = 0.1,
    platelets_10e9_l: Annotated[float, Field(ge=0, le=1500)] = 250,
    ast_times_upper_limit: Annotated[float, Field(ge=0, le=500)] = 0.5,
    creatinine_mg_dl: Annotated[float, Field(ge=0.1, le=20)] = 0.6,
    has_symptom: bool = False,
    pulmonary_oedema: bool = False,
) -> str:
    """Classify hypertension in pregnancy (ACOG 222) and name severe features.

    Args:
        systolic_bp_mmhg: Confirmed systolic pressure.
        diastolic_bp_mmhg: Confirmed diastolic pressure.
        onset_before_20_weeks: Hypertension before pregnancy or before 20 weeks.
        protein_creatinine_ratio: Urine, mg/mg; proteinuria from 0.3.
        platelets_10e9_l: Platelets.
        ast_times_upper_limit: AST or ALT divided by its upper limit.
        creatinine_mg_dl: Creatinine.
        has_symptom: Headache that resists medicine, visual disturbance, severe upper abdominal pain.
        pulmonary_oedema: Pulmonary oedema.
    """
    signs = Signs(
        systolic_bp_mmhg=systolic_bp_mmhg,
        diastolic_bp_mmhg=diastolic_bp_mmhg,
        protein_creatinine_ratio=protein_creatinine_ratio,
        platelets_10e9_l=platelets_10e9_l,
        ast_times_upper_limit=ast_times_upper_limit,
        creatinine_mg_dl=creatinine_mg_dl,
        has_symptom=has_symptom,
        pulmonary_oedema=pulmonary_oedema,
    )
    severe = ["severe-range pressure"] if is_severe_pressure(systolic_bp_mmhg, diastolic_bp_mmhg) else []
    features = ", ".join([*severe, *organ_features(signs)]) or "none"
    return f"{classify(signs, onset_before_20_weeks=onset_before_20_weeks)}; severe features: {features}"
