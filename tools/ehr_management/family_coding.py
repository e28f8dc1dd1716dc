"""The family about coding a stay: principal and secondary diagnoses from what the doctors wrote."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from healthgym.knowledge_base.patients import creatinine_for_egfr
from healthgym.knowledge_base.reading import read_yaml
from healthgym.tasks import AnswerField, Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw

from .admission import FOLDER, Admission, admit, conditions_for, pick, write_background
from .assembly import difficulty_of, make_case, seen, wording
from .coding_tools import codes
from .course import Plan, draw_labs, draw_vital_signs, morning_hours
from .notes import write_admission_note, write_note, write_nursing_notes
from .record import select

KIDNEYS = (("3a", "N18.31"), ("3b", "N18.32"), ("4", "N18.4"))
EGFR_OF = {"N18.31": 52, "N18.32": 37, "N18.4": 22}
"""A filtration rate in mL/min/1.73 m2 within each stage (KDIGO 2024)."""
LABS_OF: dict[str, tuple[str, Plan]] = {
    "E87.6": ("potassium", ((0.0, 2.9), (30.0, 3.1), (72.0, 3.8), (400.0, 4.0))),
    "E87.1": ("sodium", ((0.0, 127.0), (48.0, 130.0), (96.0, 134.0), (400.0, 136.0))),
    "E83.42": ("magnesium", ((0.0, 1.2), (72.0, 1.8), (400.0, 1.9))),
    "D69.6": ("platelets", ((0.0, 96.0), (400.0, 104.0))),
    "D62": ("hemoglobin", ((0.0, 7.4), (24.0, 8.6), (400.0, 9.4))),
}
"""Laboratory courses that go with a diagnosis: (hour, value) points; design choices that agree with it."""
HYPERTENSION, DIABETES = "Hypertension, tablets continued.", "Type 2 diabetes, metformin continued."
SOURCE = "ICD-10-CM Official Guidelines for Coding and Reporting, fiscal year 2025"


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Any]:
    return dict(read_yaml(FOLDER / "coding.yaml"))


def combined(*, hypertension: bool, heart_failure: str, kidney: str, diabetes: bool) -> list[str]:
    """Return the codes of illnesses that ICD-10-CM joins, the combination code first.

    Hypertension is presumed to cause heart failure and chronic kidney disease, diabetes chronic kidney disease.
    Source: Official Guidelines, fiscal year 2025, I.C.9.a.1-3 and I.C.4.a; stage 5 and dialysis are not used here.

    Args:
        hypertension: Whether it is documented.
        heart_failure: Code of the heart failure, empty for none.
        kidney: Code of the chronic kidney disease, empty for none.
        diabetes: Whether type 2 diabetes is documented.
    """
    found: list[str] = []
    if hypertension:
        found.append(
            "I13.0" if heart_failure and kidney else "I11.0" if heart_failure else "I12.9" if kidney else "I10"
        )
    if heart_failure:
        found.append(heart_failure)
    if diabetes:
        found.append("E11.22" if kidney else "E11.9")
    return found + ([kidney] if kidney else [])


@task_family(counts={"train": 38, "val": 4, "test": 8, "test_ood": 5})
def code_the_stay(draw: Draw) -> Case:
    """Code the stay: the doctors' sentences give the diagnoses, the rules their order and combinations."""
    difficulty, rng, table = difficulty_of(draw), draw.rng, _table()
    options = [name for name in conditions_for(draw) if name in table["principal"] or name == "acute_heart_failure"]
    condition = str(pick(rng, options))
    stay = admit(draw, condition, hours=24.0 * int(rng.integers(3, 8)) + 5)
    stay.chart = replace(stay.chart, comorbidities=(), medications=())
    write_background(stay)
    failure, sentences = "", []
    chronic = difficulty == "hard" or (difficulty == "medium" and rng.random() < 0.6)
    hypertension = chronic and rng.random() < 0.75
    diabetes = chronic and rng.random() < 0.5
    stage, kidney = KIDNEYS[int(rng.integers(3))] if chronic and rng.random() < 0.6 else ("", "")
    further: list[str] = []
    if condition == "acute_heart_failure":
        text, failure = pick(rng, table["heart_failure"])
        joined = combined(hypertension=hypertension, heart_failure=failure, kidney=kidney, diabetes=diabetes)
        principal, further = joined[0], joined[1:]
    else:
        text, principal, brought = pick(rng, table["principal"][condition])
        further = [*brought, *combined(hypertension=hypertension, heart_failure="", kidney=kidney, diabetes=diabetes)]
    sentences += [HYPERTENSION] * hypertension + [DIABETES] * diabetes
    sentences += [f"Chronic kidney disease stage {stage}, stable."] * bool(kidney)
    if condition == "sepsis" and difficulty != "easy":
        sentences.append("Severe sepsis: acute kidney injury caused by the sepsis, no septic shock.")
        further += ["R65.20", "N17.9"]
    pool = [item for item in table["secondary"] if item[1] not in further]
    for index in rng.permutation(len(pool))[: {"easy": 2, "medium": 2, "hard": 2}[difficulty]]:
        sentence, code = pool[int(index)]
        sentences.append(sentence)
        further.append(code)
    if difficulty != "easy":
        order = rng.permutation(len(table["distractors"]))[: 2 if difficulty == "medium" else 3]
        usable = [table["distractors"][int(i)] for i in order]
        sentences += [item for item in usable if condition != "pulmonary_embolism" or "mbolism" not in item]
    _write_notes(stay, text, [sentences[int(i)] for i in rng.permutation(len(sentences))])
    write_nursing_notes(stay)
    plans: dict[str, Plan] = {name: points for code, (name, points) in LABS_OF.items() if code in further}
    if kidney:
        steady = creatinine_for_egfr(EGFR_OF[kidney], stay.chart.sex, stay.chart.age_years)
        plans["creatinine"] = ((0.0, steady), (400.0, steady))
    draw_labs(stay.book, stay.chart, rng, morning_hours(stay.admission_hour, stay.hours), plans=plans)
    draw_vital_signs(stay.book, stay.chart, rng, stay.hours, every=8.0)
    chart = stay.finish()
    pid = chart.patient_id
    notes = select(chart, code="progress_note")
    further = list(dict.fromkeys(further))
    return make_case(
        draw,
        chart,
        prompt=wording(draw, patient=pid),
        answer={
            "principal_code": AnswerField(gold=principal, compare="code"),
            "codes": AnswerField(gold=tuple(further), compare="items", each={"value": {"compare": "code"}}, weight=2.0),
        },
        evidence=(
            seen(chart, notes, "every progress note", at_least=len(notes)),
            Evidence(
                any_of=tuple(f"kb.icd10.{code}" for code in (principal, *further)),
                at_least=(len(further) + 1) // 2 + 1,
                label="codes looked up",
            ),
        ),
        look=(
            Call("search_records", patient_id=pid, resource="DocumentReference"),
            *(Call("read_record", patient_id=pid, record_id=note["id"]) for note in notes),
            *(Call("icd10_search", words=codes()[code][0]) for code in (principal, *further)),
        ),
        source=SOURCE,
        condition=principal,
    )


def _write_notes(stay: Admission, final: str, sentences: list[str]) -> None:
    """Spread the sentences over the days; the final diagnosis stands in the last note."""
    write_admission_note(stay)
    rounds = stay.rounds()
    for day, hour in enumerate(rounds, 1):
        said = sentences[day - 1 :: len(rounds)]
        ending = [final] if day == len(rounds) else []
        text = " ".join([f"Day {day}.", *said, *ending, "Plan unchanged."])
        write_note(stay, "progress_note", hour, "ward doctor", text)
