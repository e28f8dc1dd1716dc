"""Safe prescribing: the diagnosis is clear, the obvious drug may not be safe."""

from dataclasses import replace

from healthgym.errors import TaskError
from healthgym.knowledge_base.pharmacology import find_drug, interaction_between
from healthgym.tasks import Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.tasks.task import DIFFICULTIES, Difficulty
from healthgym.world import Allergy, Chart, Medication

from .cases import MAX_DRAWS, by_split, icd10_field, in_turn, make_case, pick, wording
from .family_workup import workable
from .oracle import test_calls
from .safety import SERIOUS, first_safe, obstacles
from .tables import table

ADULT_YEARS = 18
COMBINED = frozenset({"illness", "interaction", "kidney"})
"""Reasons that take more than the front sheet or the list of allergies to see."""
PLANTED_MEDICINES = (
    "warfarin", "simvastatin", "methotrexate", "carbamazepine", "rifampicin", "lithium", "tizanidine", "apixaban", "colchicine",
)  # fmt: skip
PLANTED_SHARE = 0.7
"""Of hard cases, those that are given an interacting medicine where one fits; the others rely on the patient drawn."""


def ladder_for(chart: Chart) -> list[str]:
    """Return the drugs for this patient's condition, the preferred one first."""
    row = table("ladders")[chart.condition]
    return list(row["pregnant"] if chart.pregnancy_weeks and "pregnant" in row else row["drugs"])


def _allergic(draw: Draw, chart: Chart, drug: str) -> Chart:
    """Return the chart with an allergy to a drug's group, or to the drug where it has none."""
    monograph = find_drug(drug)
    allergy = Allergy(
        substance=monograph.allergy_group or monograph.id,
        reaction=pick(draw, ("hives", "wheeze", "swollen lips")),
        severity="moderate",
    )
    return replace(chart, allergies=(*chart.allergies, allergy))


def _taking(draw: Draw, chart: Chart, drug: str) -> Chart:
    """Return the chart with a medicine that interacts gravely with a drug, where one fits; else as it was."""
    known = {medicine.drug for medicine in chart.medications}
    fitting = [
        name
        for name in PLANTED_MEDICINES
        if name not in known
        and find_drug(name).usual_dose is not None
        and not any(illness in find_drug(name).contraindications for illness in chart.comorbidities)
        and (pair := interaction_between(drug, name)) is not None
        and pair.severity in SERIOUS
    ]
    if not fitting or draw.rng.random() > PLANTED_SHARE:
        return chart
    name = pick(draw, fitting)
    dose = find_drug(name).usual_dose
    assert dose is not None
    added = Medication(drug=name, dose_mg=dose.dose_mg, times_per_day=dose.times_per_day)
    return replace(chart, medications=(*chart.medications, added))


def _planted(draw: Draw, chart: Chart, difficulty: Difficulty) -> Chart:
    """Return the chart with what may stand against the first drug, and when hard against the second."""
    if difficulty == "easy":
        return chart
    drugs = ladder_for(chart)
    if difficulty == "medium":
        return _allergic(draw, chart, drugs[0])
    interacting = _taking(draw, chart, drugs[0])
    if len(drugs) < 3 or interacting is not chart:
        return interacting
    chart = _allergic(draw, chart, drugs[0])
    changed = _taking(draw, chart, drugs[1])
    return _allergic(draw, chart, drugs[1]) if changed is chart else changed


def _fits(chart: Chart, difficulty: Difficulty, drug: str | None) -> bool:
    drugs = ladder_for(chart)
    against = set(obstacles(chart, drugs[0]))
    if difficulty == "hard":
        return drug is not None and (bool(against & COMBINED) or drugs.index(drug) >= 2)
    return drug is not None and bool(against) == (difficulty == "medium")


def patient(
    draw: Draw, condition: str, difficulty: Difficulty
) -> tuple[Chart, str, tuple[Evidence, ...], tuple[Call, ...]]:
    """Draw a patient and the drug to give.

    Easy: nothing speaks against the first drug of the ladder. Medium: something does. Hard: what does must be combined from
    illnesses, medicines or kidneys, or the second drug is barred as well.
    """
    for _ in range(MAX_DRAWS):
        chart, evidence, calls = workable(draw, condition, "easy")
        if chart.age_years < ADULT_YEARS:
            continue
        chart = _planted(draw, chart, difficulty)
        drug = first_safe(chart, ladder_for(chart))
        if drug is not None and _fits(chart, difficulty, drug):
            return chart, drug, evidence, calls
    raise TaskError(f"family {draw.family}: no {difficulty} patient with {condition} in {MAX_DRAWS} draws")


def _difficulty(draw: Draw, conditions: list[str], condition: str) -> Difficulty:
    """Return the difficulty in turn; a ladder on which nothing hard can be built stays medium."""
    difficulty = DIFFICULTIES[(draw.index // len(conditions)) % len(DIFFICULTIES)]
    row = table("ladders")[condition]
    return "medium" if difficulty == "hard" and row.get("never_hard") else difficulty


@task_family(counts={"train": 77, "val": 9, "test": 16, "test_ood": 8})
def safe_prescribing(draw: Draw) -> Case:
    """Prescribe the first drug of the ladder that this patient may have."""
    conditions = by_split(tuple(table("ladders")), draw)
    condition = in_turn(draw, conditions)
    difficulty = _difficulty(draw, conditions, condition)
    chart, drug, evidence, calls = patient(draw, condition, difficulty)
    pid, gold = chart.patient_id, icd10_field(condition)
    read = ("open_chart", "past_history", "medication_list", "allergy_record")
    seen = {
        "age_years": "front sheet",
        "comorbidities": "illnesses",
        "medications": "medicines",
        "allergies": "allergies",
    }
    records = [Evidence(any_of=(f"{pid}.{key}",), label=label) for key, label in seen.items()]
    records.append(Evidence(any_of=(f"{pid}.labs.creatinine",), label="kidney function"))
    return make_case(
        draw,
        chart,
        prompt=wording(draw, who=pid),
        difficulty=difficulty,
        answer={"icd10": gold},
        end_state={f"{pid}.prescribed": drug},
        evidence=(*evidence, *records),
        solution=(
            *(Call(name, patient_id=pid) for name in read),
            *test_calls(pid, ("creatinine",)),
            *calls,
            Call("treatment_ladder", condition=condition),
            Call("prescribe", patient_id=pid, drug=drug),
            Call("submit_diagnosis", icd10=gold.gold),
        ),
    )
