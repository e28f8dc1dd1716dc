"""May this patient have this drug: allergy, illness, pregnancy, breastfeeding, interaction, kidneys."""

from collections.abc import Sequence

from healthgym.knowledge_base import load
from healthgym.knowledge_base.pharmacology import cross_reactive, find_drug, interaction_between, renal_dose
from healthgym.world import Chart

from ..scores.renal import creatinine_clearance_ml_min

SERIOUS = ("major", "contraindicated")


def trimester_of(weeks: float) -> int:
    """Return the trimester, 1 to 3, at so many weeks of gestation: to 13 6/7, to 27 6/7, after (ACOG)."""
    return 1 if weeks < 14 else 2 if weeks < 28 else 3


def clearance_of(chart: Chart) -> float:
    """Return the Cockcroft-Gault clearance in mL/min of an adult's chart."""
    creatinine = float(chart.lab_results["creatinine"].value)
    return creatinine_clearance_ml_min(chart.age_years, chart.weight_kg, creatinine, chart.sex)


def allergy_reason(chart: Chart, drug: str) -> str | None:
    """Return why the recorded allergies forbid a drug, cross-reactivity included; None when they do not."""
    reasons = (cross_reactive(allergy.substance, drug) for allergy in chart.allergies)
    return next((reason for reason in reasons if reason), None)


def obstacles(chart: Chart, drug: str) -> dict[str, str]:
    """Return every reason against a drug by kind: allergy, illness, pregnancy, lactation, interaction, kidney."""
    monograph = find_drug(drug)
    found: dict[str, str] = {}
    reason = allergy_reason(chart, drug)
    if reason:
        found["allergy"] = reason
    against = load().condition(chart.condition).contraindicated
    for name in (drug, *monograph.classes):
        if name in against:
            found["illness"] = against[name]
    for illness in (*chart.comorbidities, chart.condition):
        if illness in monograph.contraindications:
            found["illness"] = f"{illness}: {monograph.contraindications[illness]}"
    if chart.pregnancy_weeks and monograph.avoid_in_trimester(trimester_of(chart.pregnancy_weeks)):
        found["pregnancy"] = monograph.pregnancy.reason if monograph.pregnancy else ""
    if chart.lactating and monograph.lactation is not None and monograph.lactation.level == "avoid":
        found["lactation"] = monograph.lactation.reason
    for medicine in chart.medications:
        pair = interaction_between(drug, medicine.drug)
        if pair is not None and pair.severity in SERIOUS:
            found["interaction"] = f"with {medicine.drug}: {pair.effect}"
    if chart.age_years >= 18:
        band = renal_dose(drug, clearance_of(chart))
        if band is not None and band.avoid:
            found["kidney"] = band.note or "avoid at this clearance"
    return found


def first_safe(chart: Chart, drugs: Sequence[str]) -> str | None:
    """Return the first of `drugs` that nothing speaks against; None when there is none."""
    return next((drug for drug in drugs if not obstacles(chart, drug)), None)
