"""May this patient have this drug: allergy with cross-reactivity, contraindication, pregnancy, what they take."""

from collections.abc import Sequence

from healthgym.errors import NotRegistered, ToolError
from healthgym.knowledge_base import load
from healthgym.knowledge_base.pharmacology import cross_reactive, find_drug
from healthgym.world import Chart


def known_drug(name: str) -> str:
    """Return the id of a drug. Raises ToolError, offering the nearest, when there is none."""
    try:
        return find_drug(name).id
    except NotRegistered as error:
        raise ToolError(str(error)) from None


def allergy_reason(chart: Chart, drug: str) -> str | None:
    """Return why the recorded allergies forbid a drug, cross-reactivity included; None when they do not."""
    reasons = (cross_reactive(allergy.substance, find_drug(drug).id) for allergy in chart.allergies)
    return next((reason for reason in reasons if reason), None)


def contraindication_reason(chart: Chart, drug: str) -> str | None:
    """Return why illness, pregnancy or present medicines forbid a drug; None when they do not.

    Besides the monographs: no NSAID with chronic kidney disease (KDIGO 2024, practice point on nephrotoxins) or with an
    anticoagulant (major bleeding), and nothing that the condition itself forbids.
    """
    candidate, profile = find_drug(drug), load().condition(chart.condition)
    if candidate.id in profile.contraindicated:
        return profile.contraindicated[candidate.id]
    for illness in (*chart.comorbidities, chart.condition):
        if illness in candidate.contraindications:
            return candidate.contraindications[illness]
    if chart.pregnancy_weeks and candidate.pregnancy is not None and candidate.pregnancy.level == "avoid":
        return candidate.pregnancy.reason
    if "nsaid" in candidate.classes and candidate.id != "aspirin":
        if "chronic_kidney_disease" in chart.comorbidities:
            return "NSAID in chronic kidney disease"
        if any("anticoagulant" in find_drug(m.drug).classes for m in chart.medications):
            return "NSAID with an anticoagulant"
    return None


def is_safe(chart: Chart, drug: str) -> bool:
    """Say whether neither allergy nor contraindication forbids a drug."""
    return allergy_reason(chart, drug) is None and contraindication_reason(chart, drug) is None


def first_safe(chart: Chart, drugs: Sequence[str]) -> str | None:
    """Return the first of `drugs` that is safe for this patient; None when none is."""
    return next((drug for drug in drugs if is_safe(chart, drug)), None)
