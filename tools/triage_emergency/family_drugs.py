"""The right first drug: antidotes, time-critical drugs and antibiotics with their substitutes; pain relief by ladder."""

from collections.abc import Sequence

from healthgym.errors import TaskError
from healthgym.knowledge_base.pharmacology import cross_reactive, find_drug
from healthgym.tasks import AnswerField, Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Allergy, Chart

from .cases import MAX_DRAWS, by_split, esi_field, introduction, make_case, pick, pick_difficulty, sample, wording
from .family_arrivals import reticent
from .gold import triage_gold
from .oracle import decisive
from .reference import table
from .safety import allergy_reason, contraindication_reason, first_safe

EMERGENCIES = (
    "stemi", "nstemi", "opioid_overdose", "hypoglycaemia", "paracetamol_overdose", "anaphylaxis", "hyperkalaemia",
    "status_epilepticus", "pneumonia", "pharyngitis", "asthma_attack", "cellulitis", "pyelonephritis", "cystitis",
    "preeclampsia_severe", "tricyclic_overdose", "croup", "wrist_fracture", "bacterial_meningitis", "acute_heart_failure",
)  # fmt: skip
PAINFUL = (
    "renal_colic", "ankle_fracture", "hip_fracture", "low_back_pain", "migraine_attack", "appendicitis", "ankle_sprain",
    "cholecystitis", "deep_vein_thrombosis", "pyelonephritis", "cellulitis", "pharyngitis", "simple_laceration",
    "wrist_fracture", "testicular_torsion", "otitis_media", "ectopic_pregnancy", "pulmonary_embolism",
)  # fmt: skip
UNRELATED = ("nsaid", "penicillin", "opioid", "sulfonamide_antibiotic", "latex")


def allergen_of(drug: str) -> str:
    """Return what a chart records for an allergy to a drug: its allergy group, or the drug itself."""
    return find_drug(drug).allergy_group or drug


def allergies_for(draw: Draw, forbidding: str | None, keep: str | None) -> tuple[Allergy, ...]:
    """Return an allergy to the drug `forbidding`, and now and then one more that does not forbid the drug `keep`."""
    substances = [allergen_of(forbidding)] if forbidding else []
    spare = [name for name in UNRELATED if name not in substances and not (keep and cross_reactive(name, keep))]
    if draw.rng.random() < 0.35:
        substances.append(pick(draw, spare))
    reaction = pick(draw, ("hives", "rash", "wheeze", "swelling"))
    return tuple(Allergy(substance=name, reaction=reaction, severity="moderate") for name in sorted(substances))


def safety_checks(patient: str, drugs: Sequence[str]) -> tuple[list[Evidence], list[Call]]:
    """Return the checks that come before any drug: allergies, and for an NSAID illnesses and medicines."""
    evidence = [Evidence(any_of=(f"{patient}.allergies",), label="allergies")]
    calls = [Call("check_allergies", patient_id=patient)]
    if has_nsaid(drugs):
        evidence.append(Evidence(any_of=(f"{patient}.comorbidities",), label="illnesses before a drug"))
        calls.append(Call("check_history", patient_id=patient))
    return evidence, calls


def has_nsaid(drugs: Sequence[str]) -> bool:
    """Say whether one of the drugs is a non-steroidal anti-inflammatory drug."""
    return any("nsaid" in find_drug(drug).classes for drug in drugs)


@task_family(counts={"train": 60, "val": 10, "test": 24, "test_ood": 12})
def first_drug(draw: Draw) -> Case:
    """Recognise what needs a drug at once, and give the one this patient can have."""
    difficulty = pick_difficulty(draw)
    condition = pick(draw, by_split(EMERGENCIES, draw))
    choices = list(table("first_drugs")[condition]["drugs"])
    place = int(draw.rng.integers(len(choices)))
    forbidden, drug = (choices[0] if place else None), choices[place]
    for _ in range(MAX_DRAWS):
        chart = sample(draw, condition, allergies=allergies_for(draw, forbidden, drug))
        chart = reticent(chart) if difficulty == "hard" else chart
        found = decisive(chart)
        if found is not None and first_safe(chart, choices) == drug and is_explained_by_allergy(chart, choices, drug):
            break
    else:
        raise TaskError(f"family first_drug: no suitable patient with {condition} in {MAX_DRAWS} draws")
    evidence, calls = found
    checks, check_calls = safety_checks("P1", ())
    gold = triage_gold(chart)
    return make_case(
        draw,
        [chart],
        prompt=wording(draw, who=introduction(chart, difficulty)),
        difficulty=difficulty,
        answer={"esi_level": esi_field(gold.level), "impression": AnswerField(gold=chart.condition)},
        end_state={"P1.given": drug},
        evidence=[*evidence, *checks],
        solution=(
            *calls,
            *check_calls,
            Call("give_medication", patient_id="P1", drug=drug),
            Call("submit_triage", esi_level=gold.level, impression=chart.condition),
        ),
    )


@task_family(counts={"train": 60, "val": 10, "test": 24, "test_ood": 12})
def analgesia(draw: Draw) -> Case:
    """Relieve pain by the ladder, around allergies, illnesses, medicines and pregnancy."""
    difficulty = pick_difficulty(draw)
    condition = pick(draw, by_split(PAINFUL, draw))
    forbidden = pick(draw, (None, None, "ibuprofen", "morphine"))
    for _ in range(MAX_DRAWS):
        chart = sample(draw, condition, allergies=allergies_for(draw, forbidden, "paracetamol"))
        found = decisive(chart)
        step = pain_step(chart)
        drug = first_safe(chart, step)
        if found is None or chart.age_years < 1 or (step and drug is None):
            continue
        if not any(contraindication_reason(chart, name) for name in step if name == "morphine"):
            break
    else:
        raise TaskError(f"family analgesia: no suitable patient with {condition} in {MAX_DRAWS} draws")
    evidence, calls = found
    checks, check_calls = safety_checks("P1", step)
    if has_nsaid(step):
        checks.append(Evidence(any_of=("P1.medications",), label="medicines before a drug"))
        check_calls.append(Call("check_medicines", patient_id="P1"))
    gold = triage_gold(chart)
    give = (Call("give_medication", patient_id="P1", drug=drug),) if drug else ()
    return make_case(
        draw,
        [chart],
        prompt=wording(draw, who=introduction(chart, difficulty)),
        difficulty=difficulty,
        answer={"esi_level": esi_field(gold.level), "impression": AnswerField(gold=chart.condition)},
        end_state={"P1.given": drug},
        evidence=[*evidence, *checks],
        solution=(
            *calls,
            *check_calls,
            *give,
            Call("submit_triage", esi_level=gold.level, impression=chart.condition),
        ),
    )


def is_explained_by_allergy(chart: Chart, choices: Sequence[str], drug: str) -> bool:
    """Say whether every drug passed over for `drug` is forbidden by an allergy."""
    return all(allergy_reason(chart, skipped) for skipped in choices[: choices.index(drug)])


def pain_step(chart: Chart) -> list[str]:
    """Return the drugs of the ladder's step for this patient's pain, in order of choice."""
    pain = chart.vital_signs_at(0).pain_0_10 or 0
    return next(list(row["drugs"]) for row in table("analgesia").values() if pain >= row["from_pain"])
