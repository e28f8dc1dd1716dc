"""May this patient have this psychotropic now: one rule a line, each from the monographs or the interaction table."""

from collections.abc import Sequence

from healthgym.knowledge_base.pharmacology import cross_reactive, find_drug, interaction_between, renal_dose
from healthgym.world import Chart

from ..scores.renal import creatinine_clearance_ml_min
from .qt import HIGH_RISK_MS, fridericia_ms

VALPROATE_FROM_YEARS = 55
"""Source: MHRA, valproate: new safety measures, 2024; under 55 only when two specialists agree, which this service leaves out."""
TRIMESTER_WEEKS = (14, 28)


def objection(chart: Chart, drug: str) -> str:
    """Return the first reason against a drug for this patient, empty when there is none."""
    candidate = find_drug(drug)
    for allergy in chart.allergies:
        if cross_reactive(allergy.substance, drug):
            return f"allergy to {allergy.substance}"
    for illness in chart.comorbidities:
        if illness in candidate.contraindications:
            return f"contraindicated in {illness}"
    for medicine in chart.medications:
        found = interaction_between(drug, medicine.drug)
        if found is not None and found.severity in ("major", "contraindicated"):
            return f"{found.severity} interaction with {medicine.drug}"
    if chart.pregnancy_weeks is not None and candidate.avoid_in_trimester(trimester(chart.pregnancy_weeks)):
        return "pregnancy"
    if chart.lactating and candidate.lactation is not None and candidate.lactation.level == "avoid":
        return "lactation"
    if chart.age_years >= 65 and candidate.beers_advice == "avoid":
        return "age 65 and over"
    if drug == "valproate" and chart.age_years < VALPROATE_FROM_YEARS:
        return "valproate under 55 years"
    if candidate.qt_risk == "known" and qtc_ms(chart) >= HIGH_RISK_MS:
        return "QTc of 500 ms or more"
    band = renal_dose(drug, clearance_ml_min(chart))
    return "kidney function" if band is not None and band.avoid else ""


def first_suitable(chart: Chart, drugs: Sequence[str]) -> str:
    """Return the first drug without an objection, empty when there is none."""
    return next((drug for drug in drugs if not objection(chart, drug)), "")


def trimester(weeks: float) -> int:
    """Return 1 under 14 weeks, 2 under 28, 3 from then on. Source: ACOG, How your fetus grows, 2023."""
    return 1 + sum(weeks >= limit for limit in TRIMESTER_WEEKS)


def qtc_ms(chart: Chart) -> float:
    """Return QTc by Fridericia from the chart's ECG, in ms."""
    rate, qt = chart.extra.get("ecg", (72, 390))
    return fridericia_ms(qt, rate)


def clearance_ml_min(chart: Chart) -> float:
    """Return the Cockcroft-Gault clearance from today's creatinine, in mL/min."""
    creatinine = float(chart.lab_results["creatinine"].value)
    return creatinine_clearance_ml_min(chart.age_years, chart.weight_kg, creatinine, chart.sex)
