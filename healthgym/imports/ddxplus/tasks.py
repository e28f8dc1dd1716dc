"""Task families over profiles and recorded patients."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from healthgym.imports.ddxplus.profiles import MIN_PRESENT, draw_patient, questions, read_profiles
from healthgym.imports.folder import count_splits, declare, read_lines, row_of
from healthgym.tasks import AnswerField, Call, Case, Criteria, Evidence, Task
from healthgym.tasks.families import Draw, Generate
from healthgym.world import Chart

NEEDED = MIN_PRESENT - 1
"""Things that the patient has, beside the one told, which must have been asked."""
CALLS_A_TURN = 4
_DOCS = {
    "sampled": "Find the condition of a patient drawn from the profiles.",
    "recorded": "Find the pathology of a recorded patient.",
    "differential": "Give the differential diagnosis of a recorded patient.",
}


def family(folder: Path, name: str) -> Generate:
    """Return one family over the data in a domain folder."""
    if name == "sampled":
        counts = read_counts(folder)
        return declare(lambda draw: _sampled(folder, draw), name, counts, _DOCS[name])
    patients = read_lines(folder / "data" / "patients.jsonl")
    return declare(
        lambda draw: _recorded(row_of(patients, draw), draw, folder), name, count_splits(patients), _DOCS[name]
    )


def read_counts(folder: Path) -> dict[str, int]:
    """Return how many tasks are drawn from the profiles, by split."""
    (row,) = read_lines(folder / "data" / "counts.jsonl")
    return {split: int(count) for split, count in row.items()}


def _sampled(folder: Path, draw: Draw) -> Case:
    profiles = read_profiles(folder)
    condition = int(draw.rng.integers(len(profiles.conditions)))
    patient = draw_patient(profiles, condition, draw.rng)
    gold, *accept = (profiles.names[row] for row in patient.accepted)
    extra = {"evidences": {code: [] for code in patient.present}, "has_values": False}
    chart = Chart(
        patient_id="P1", age_years=patient.age_years, sex=patient.sex, weight_kg=0.0, condition=gold, extra=extra
    )
    asked = questions(profiles, patient, NEEDED)
    question = profiles.evidences[patient.initial]["question"]
    return _case(
        draw, chart, _opening(chart, question, "yes") + " Find the condition and submit it.",
        {"diagnosis": AnswerField(gold=gold, accept=tuple(accept))}, asked, patient.initial, {"diagnosis": gold}, "drawn from the profiles",
    )  # fmt: skip


def _recorded(row: Mapping[str, Any], draw: Draw, folder: Path) -> Case:
    evidences = read_profiles(folder).evidences
    extra = {"evidences": row["evidences"], "has_values": True}
    chart = Chart(
        patient_id="P1", age_years=row["age_years"], sex=row["sex"], weight_kg=0.0, condition=row["gold"], extra=extra
    )  # fmt: skip
    first = evidences[row["initial"]]
    told = ", ".join(first["values"].get(value, value) for value in row["evidences"][row["initial"]]) or "yes"
    asked = [code for code in row["evidences"] if code != row["initial"]]
    submit: dict[str, Any] = {"diagnosis": row["gold"]}
    if draw.family == "differential":
        submit["differential"] = row["differential"]
        answer = {"differential": AnswerField(gold=tuple(row["differential"]), compare="set")}
        wish = " Submit every condition that is likely, the most likely first, as the differential."
    else:
        answer = {"diagnosis": AnswerField(gold=row["gold"], accept=tuple(row["accept"]))}
        wish = " Find the condition and submit it."
    return _case(
        draw,
        chart,
        _opening(chart, first["question"], told) + wish,
        answer,
        asked,
        row["initial"],
        submit,
        row["place"],
    )


def _case(
    draw: Draw,
    chart: Chart,
    prompt: str,
    answer: Mapping[str, AnswerField],
    asked: Sequence[str],
    initial: str,
    submit: Mapping[str, Any],
    place: str,
) -> Case:
    has = tuple(f"P1.evidences.{code}" for code in chart.extra["evidences"] if code != initial)
    look = tuple(Call("ask_patient", patient_id="P1", evidence_id=code) for code in asked)
    task = Task(
        id=draw.task_id,
        domain=draw.domain,
        split=draw.split,
        family=draw.family,
        seed=draw.seed,
        prompt=prompt,
        criteria=Criteria(
            answer=answer,
            evidence=(
                Evidence(
                    any_of=has, at_least=min(NEEDED, len(has)), label="what the patient has beside the first symptom"
                ),
            ),
        ),
        solution=(*look, Call("submit_diagnosis", **submit)),
        solution_turns=(*(min(CALLS_A_TURN, len(look) - start) for start in range(0, len(look), CALLS_A_TURN)), 1),
        condition=chart.condition,
        provenance=f"DDXPlus, {place}; see source.json",
    )
    return Case(task, {"P1": chart})


def _opening(chart: Chart, question: str, told: str) -> str:
    return f"P1 is {chart.sex}, {chart.age_years:g} years. The first question, {question!r}, was answered: {told}."
