"""The small family: vital signs, one question, allergies, one drug or none, one level. Made for models under 1M weights."""

from dataclasses import replace

import numpy as np

from healthgym.errors import TaskError
from healthgym.knowledge_base import load
from healthgym.tasks import Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Chart, Persona

from .cases import MAX_DRAWS, by_split, esi_field, make_case, pick, sample, wording
from .family_drugs import allergies_for, is_explained_by_allergy
from .gold import triage_gold
from .reference import table
from .safety import first_safe

TOOLS = ("take_vital_signs", "ask_patient", "check_allergies", "check_history", "give_medication", "submit_triage")
CONDITIONS = (
    "ankle_sprain", "low_back_pain", "migraine_attack", "ankle_fracture", "pneumonia", "pharyngitis", "asthma_attack",
    "nstemi", "anaphylaxis", "hypoglycaemia", "opioid_overdose", "cystitis",
    "medication_refill", "suture_removal", "conjunctivitis", "gastroenteritis", "syncope_vasovagal",
    "wrist_fracture", "otitis_media", "contact_dermatitis", "panic_attack", "croup", "tricyclic_overdose",
)  # fmt: skip
OPENING = "What is wrong?"


def _targets(draw: Draw) -> list[tuple[str, str | None, int]]:
    """Return the (condition, drug, level) triples that this split can draw."""
    return [
        (condition, drug, level)
        for condition in by_split(CONDITIONS, draw)
        for drug in (table("first_drugs")[condition]["drugs"] or [None])
        for level in _levels(condition)
    ]


def _levels(condition: str) -> tuple[int, ...]:
    """Return the levels that patients of a condition can have here: those of its severities, and 2 when they can worsen."""
    levels: set[int] = set()
    for severity in load().condition(condition).severities.values():
        triage = severity.triage
        if triage.immediate_interventions:
            levels.add(1)
        elif triage.high_risk:
            levels.add(2)
        else:
            levels.add({0: 5, 1: 4}.get(len(triage.resources), 3))
            if can_be_stressed(condition) and (len(triage.resources) >= 2 or severity.vitals.pain_0_10[1] >= 3):
                levels.add(2)
    return tuple(sorted(levels))


def can_be_stressed(condition: str) -> bool:
    """Say whether a faster pulse leaves the severity recognisable: only where the profile has a single one."""
    return len(load().condition(condition).severities) == 1


def _target(draw: Draw) -> tuple[str, str | None, int]:
    """Deal the pairs of drug and level out in turn, so that no answer is common; then pick a condition."""
    triples = _targets(draw)
    pairs = sorted({(drug or "", level) for _, drug, level in triples})
    drug, level = pairs[draw.index % len(pairs)]
    condition = pick(draw, [c for c, other, lvl in triples if ((other or ""), lvl) == (drug, level)])
    return condition, drug or None, level


def _stressed(chart: Chart, rng: np.random.Generator) -> Chart:
    """Return the chart with a faster pulse or more pain than the profile's middle: dehydration, fear, a worse injury."""
    minute, vital_signs = chart.vital_signs[0]
    if vital_signs.pain_0_10 and vital_signs.pain_0_10 >= 2 and rng.random() < 0.5:
        changed = replace(vital_signs, pain_0_10=int(rng.integers(7, 10)))
    else:
        changed = replace(vital_signs, heart_rate_per_min=int(rng.integers(101, 130)))
    return replace(chart, vital_signs=((minute, changed),))


@task_family(counts={"train": 2000, "val": 200, "test": 300, "test_ood": 100})
def vital_sign_triage(draw: Draw) -> Case:
    """One patient in five short turns; nothing about the answer is in the prompt."""
    condition, drug, level = _target(draw)
    choices = list(table("first_drugs")[condition]["drugs"])
    forbidden = choices[0] if drug is not None and drug != choices[0] else None
    persona = Persona(style="plain", informant="patient")
    for _ in range(MAX_DRAWS):
        chart = sample(draw, condition, allergies=allergies_for(draw, forbidden, drug), persona=persona)
        chart = _stressed(chart, draw.rng) if can_be_stressed(condition) and draw.rng.random() < 0.5 else chart
        is_wanted = drug is None or (
            first_safe(chart, choices) == drug and is_explained_by_allergy(chart, choices, drug)
        )
        if triage_gold(chart).level == level and is_wanted:
            break
    else:
        raise TaskError(f"vital_sign_triage: no {condition} with level {level} and {drug} in {MAX_DRAWS} draws")
    give = (Call("give_medication", patient_id="P1", drug=drug),) if drug else ()
    return make_case(
        draw,
        [chart],
        prompt=wording(draw),
        difficulty="easy" if drug is None else "medium" if drug == choices[0] else "hard",
        answer={"esi_level": esi_field(level)},
        end_state={"P1.given": drug},
        evidence=(
            Evidence(any_of=("P1.vital_signs.heart_rate_per_min",), label="vital signs"),
            Evidence(any_of=("P1.chief_complaint",), label="what is wrong"),
            Evidence(any_of=("P1.allergies",), label="allergies"),
        ),
        solution=(
            Call("take_vital_signs", patient_id="P1"),
            Call("ask_patient", patient_id="P1", question=OPENING),
            Call("check_allergies", patient_id="P1"),
            *give,
            Call("submit_triage", esi_level=level),
        ),
        tools=TOOLS,
        spare_calls=3,
    )
