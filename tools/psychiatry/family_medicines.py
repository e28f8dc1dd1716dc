"""The right medicine for this patient, and the day on which a change is safe."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from healthgym.errors import TaskError
from healthgym.knowledge_base.pharmacology import find_drug
from healthgym.tasks import AnswerField, Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Allergy, Chart, Medication

from .cases import by_split, dealt, make_case, person, pick, pick_difficulty, who, wording
from .suitability import clearance_ml_min, first_suitable, objection
from .switching import IRREVERSIBLE, washout_days
from .tables import table

CONDITION_OF = {
    "depression": "major_depression",
    "anxiety": "generalised_anxiety",
    "bipolar_maintenance": "bipolar_depression",
    "mania": "bipolar_mania",
    "psychosis": "first_episode_psychosis",
    "obsessive_compulsive_disorder": "obsessive_compulsive_disorder",
    "dementia": "alzheimer_dementia",
}
HELD_OUT = ("obsessive_compulsive_disorder", "dementia")
"""Indications that appear in test_ood only."""
MAX_DRAWS = 300
PLANTED: dict[str, tuple[str, ...]] = {
    "depression": ("none", "tramadol", "allergy:sertraline", "allergy:sertraline+tramadol", "st_johns_wort"),
    "anxiety": ("none", "tramadol", "allergy:sertraline", "allergy:sertraline+allergy:venlafaxine"),
    "bipolar_maintenance": (
        "none",
        "ibuprofen+old",
        "hydrochlorothiazide",
        "kidney+old",
        "lisinopril",
        "lisinopril+old",
        "none",
    ),
    "mania": ("none", "allergy:olanzapine", "allergy:olanzapine+allergy:risperidone"),
    "psychosis": ("none", "allergy:aripiprazole", "allergy:aripiprazole+allergy:risperidone"),
    "obsessive_compulsive_disorder": ("none", "allergy:sertraline"),
    "dementia": ("none", "qt", "allergy:donepezil"),
}
"""What stands against the first choice, by indication."""
READ = ("history", "medicines", "allergies", "reproductive")


def _planted(draw: Draw, chart: Chart, plant: str) -> Chart:
    """Return the chart with the obstacle that `plant` names."""
    for part in plant.split("+"):
        if part.startswith("allergy:"):
            allergy = Allergy(substance=part.removeprefix("allergy:"), reaction="rash", severity="moderate")
            chart = replace(chart, allergies=(*chart.allergies, allergy))
        elif part == "qt":
            rate = int(draw.rng.integers(62, 84))
            qtc = int(draw.rng.integers(508, 540))
            chart = replace(chart, extra={**chart.extra, "ecg": (rate, round(qtc * (60 / rate) ** (1 / 3)))})
        elif part == "kidney":
            high = replace(chart.lab_results["creatinine"], value=round(float(draw.rng.uniform(3.2, 4.4)), 2))
            chart = replace(
                chart,
                lab_results={**chart.lab_results, "creatinine": high},
                comorbidities=tuple(dict.fromkeys((*chart.comorbidities, "chronic_kidney_disease"))),
            )
        elif part not in ("none", "old"):
            usual = find_drug(part).usual_dose
            dose = (usual.dose_mg, usual.times_per_day) if usual else (300.0, 3.0)
            medicine = Medication(drug=part, dose_mg=dose[0], times_per_day=dose[1])
            chart = replace(chart, medications=(*(m for m in chart.medications if m.drug != part), medicine))
    return chart


def _patient(draw: Draw, indication: str, plant: str, drugs: Sequence[str]) -> Chart:
    """Draw a patient who takes none of the drugs in question, with an obstacle planted, and one suitable choice."""
    for _ in range(MAX_DRAWS):
        options: dict[str, Any] = {"allergies": ()}
        if indication == "bipolar_maintenance":
            old = "old" in plant.split("+")
            options["age_years"] = float(draw.rng.integers(56, 64) if old else draw.rng.integers(20, 53))
        chart = person(draw, CONDITION_OF[indication], **options)
        if {m.drug for m in chart.medications} & {*drugs, "venlafaxine", "sertraline"}:
            continue
        chart = replace(chart, findings=(), extra={"ecg": (72, int(draw.rng.integers(372, 398)))})
        chart = _planted(draw, chart, plant)
        if first_suitable(chart, drugs):
            return chart
    raise TaskError(f"medicine_choice: no patient for {indication} with {plant} in {MAX_DRAWS} draws")


@task_family(counts={"train": 49, "val": 6, "test": 10, "test_ood": 6})
def medicine_choice(draw: Draw) -> Case:
    """Prescribe the first drug of the service's order that is safe; easy cases have no obstacle, hard ones two."""
    indication = dealt(draw, by_split(draw, tuple(CONDITION_OF), HELD_OUT))
    drugs = table("first_drugs")[indication]["drugs"]
    plant = pick(draw, PLANTED[indication])
    chart = _patient(draw, indication, plant, drugs)
    drug = first_suitable(chart, drugs)
    place = drugs.index(drug)
    needs_labs = indication in ("bipolar_maintenance", "dementia")
    sections = [Call("read_record", patient_id="P1", section=section) for section in READ]
    tests = [Call("order_test", patient_id="P1", test=test) for test in ("creatinine", "ecg")] if needs_labs else []
    evidence = [
        Evidence(any_of=(f"P1.{key}",), label=label)
        for key, label in (
            ("comorbidities", "illnesses"), ("medications", "medicines"), ("allergies", "allergies"),
            ("pregnancy_weeks", "pregnancy and lactation"),
        )
    ]  # fmt: skip
    if needs_labs:
        evidence.append(Evidence(any_of=("P1.labs.creatinine",), label="kidney function"))
        evidence.append(Evidence(any_of=("P1.ecg.qt_ms",), label="ECG"))
    return make_case(
        draw,
        [chart],
        prompt=wording(draw, who=who(chart), indication=indication.replace("_", " ")),
        difficulty="easy" if place == 0 else "hard" if place > 1 or "+" in plant else "medium",
        answer={"drug": AnswerField(gold=drug)},
        end_state={"P1.prescribed": drug},
        evidence=evidence,
        solution=(
            *sections,
            *tests,
            *([Call("wait", minutes=90)] if tests else []),
            Call("service_guide", topic="first_drugs"),
            Call("prescribe", patient_id="P1", drug=drug),
            Call("submit_assessment", drug=drug),
        ),
    )


ANTIDEPRESSANTS = (
    "sertraline",
    "venlafaxine",
    "mirtazapine",
    "bupropion",
    "citalopram",
    "amitriptyline",
    "paroxetine",
    "fluoxetine",
)
OOD_ANTIDEPRESSANTS = ("duloxetine", "nortriptyline", "escitalopram")


@task_family(counts={"train": 49, "val": 6, "test": 10, "test_ood": 6})
def antidepressant_switch(draw: Draw) -> Case:
    """Work out the day on which the next antidepressant is safe; hard cases have two stopped drugs."""
    difficulty = pick_difficulty(draw)
    others = OOD_ANTIDEPRESSANTS if draw.split == "test_ood" else ANTIDEPRESSANTS
    kind = dealt(draw, ("from_maoi", "to_maoi", "from_fluoxetine", "none"))
    if kind == "from_maoi":
        stopped, following = pick(draw, sorted(IRREVERSIBLE)), pick(draw, [d for d in others if d != "fluoxetine"])
    elif kind == "none":
        stopped, following = (pick(draw, others), "mirtazapine" if draw.split != "test_ood" else "sertraline")
        if stopped == following:
            stopped = "citalopram"
    else:
        stopped = "fluoxetine" if kind == "from_fluoxetine" else pick(draw, [d for d in others if d != "fluoxetine"])
        following = "phenelzine"
    needed = washout_days(stopped, following)
    passed = int(draw.rng.integers(1, max(2, needed - 1))) if needed else int(draw.rng.integers(1, 10))
    history = {stopped: passed}
    if difficulty == "hard" and kind == "to_maoi":  # fluoxetine before it: the longer wait counts
        history["fluoxetine"] = int(draw.rng.integers(passed + 3, 30))
    elif difficulty != "easy":
        history["zolpidem"] = int(draw.rng.integers(1, 30))
    waits = {drug: max(0, washout_days(drug, following) - days) for drug, days in history.items()}
    days = max(waits.values())
    chart = person(draw, "major_depression", pregnancy_weeks=0.0, allergies=())
    chart = replace(chart, findings=(), medications=(), extra={"stopped": history})
    checks = [Call("wash_out", stopped=drug, next_drug=following) for drug in history]
    return make_case(
        draw,
        [chart],
        prompt=wording(draw, who=who(chart), following=following),
        difficulty=difficulty,
        answer={"start_in_days": AnswerField(gold=days)},
        end_state={"P1.prescribed": following, "P1.start_in_days": days},
        evidence=(Evidence(any_of=("P1.medications",), label="what was stopped and when"),),
        solution=(
            Call("read_record", patient_id="P1", section="medicines"),
            *checks,
            Call("prescribe", patient_id="P1", drug=following, start_in_days=days),
            Call("submit_assessment", start_in_days=days),
        ),
    )


__all__ = ["antidepressant_switch", "clearance_ml_min", "medicine_choice", "objection"]
