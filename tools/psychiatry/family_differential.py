"""What is it, and what comes first: two informants, the mental state, the body."""

from dataclasses import replace
from functools import lru_cache

from healthgym.knowledge_base import load
from healthgym.tasks import AnswerField, Call, Case, Evidence, Hazard, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Chart, Finding, Persona

from .asking import ask_calls, told
from .cases import by_split, dealt, make_case, person, pick_difficulty, who, wording
from .interview_tools import PART_OF_SIGN
from .tables import table

HELD_OUT = ("obsessive_compulsive_disorder", "postpartum_psychosis", "opioid_withdrawal", "lithium_toxicity")
"""Conditions that appear in test_ood only."""
DENIES = ("bipolar_mania", "first_episode_psychosis", "delirium", "alzheimer_dementia", "postpartum_psychosis")
"""Conditions in which the patient does not see what the relative tells."""
BEFORE_ANTIDEPRESSANT = {"major_depression": ("past_high_period",), "postpartum_depression": ("past_high_period",)}
"""What must have been asked before an antidepressant. Source: NICE CG185, updated 2023."""
HARM: dict[str, tuple[str, str]] = {
    "bipolar_depression": ("start_antidepressant", "antidepressant alone in bipolar disorder"),
    "bipolar_mania": ("start_antidepressant", "antidepressant in mania"),
    "delirium": ("memory_work_up", "delirium put on a waiting list"),
    "postpartum_psychosis": ("perinatal_treatment", "postpartum psychosis sent home"),
    "lithium_toxicity": ("score_withdrawal_and_benzodiazepine", "poisoning taken for withdrawal"),
}
"""By condition: the first step that harms, and how."""
PRONOUNS = {
    "female": {"he": "she", "He": "She", "his": "her", "His": "Her", "him": "her", "himself": "herself"},
    "male": {name: name for name in ("he", "He", "his", "His", "him", "himself")},
}


def _relative(chart: Chart) -> Chart:
    """Return the relative, who tells every symptom in the words of somebody who lives with the patient."""
    symptoms, names = load().symptoms, PRONOUNS[chart.sex]
    worry = next(iter(load().condition(chart.condition).chief_complaints_other), "I'm worried about {him}.")
    told_by = tuple(
        replace(f, lay=(symptoms[f.id].other if f.present else symptoms[f.id].other_absent).format_map(names))
        for f in chart.findings
        if f.reveal == "ask"
    )
    return Chart(
        patient_id="R1",
        chief_complaint=worry.format_map(names),
        age_years=50.0,
        sex="female",
        weight_kg=70.0,
        findings=told_by,
        persona=Persona(informant="relative"),
    )


def _plainly(finding: Finding) -> Finding:
    """Return the finding; a mood that is not low says no more than that, since it may be high."""
    is_not_low = finding.id == "low_mood_seen" and not finding.present
    return replace(finding, text="Not tearful, not slowed.") if is_not_low else finding


def _denying(chart: Chart) -> Chart:
    """Return the chart of a patient who denies every symptom; the body and the mental state do not."""
    symptoms = load().symptoms
    findings = tuple(
        replace(f, present=False, lay=symptoms[f.id].absent) if f.reveal == "ask" else f for f in chart.findings
    )
    return replace(chart, findings=findings)


@lru_cache(maxsize=32)
def deciding(condition: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the key symptoms and key signs of a condition."""
    kb = load()
    keys = kb.condition(condition).key_findings
    return tuple(k for k in keys if k in kb.symptoms), tuple(k for k in keys if k in kb.signs)


@task_family(counts={"train": 49, "val": 6, "test": 10, "test_ood": 6}, version=2)
def differential(draw: Draw) -> Case:
    """Diagnose and name the first step; hard cases have a patient who denies and a relative who tells."""
    difficulty = pick_difficulty(draw)
    condition = dealt(draw, by_split(draw, tuple(table("first_steps")), HELD_OUT))
    symptoms, signs = deciding(condition)
    while True:
        chart = person(draw, condition, persona=Persona())
        shown = {f.id for f in chart.findings if f.present}
        if all(name in shown for name in symptoms[:2]) and (not signs or shown & set(signs)):
            break
    chart = replace(chart, findings=tuple(map(_plainly, chart.findings)))
    charts = [chart]
    if condition in DENIES or (difficulty == "hard" and condition == "bipolar_depression"):
        relative = _relative(chart)
        patient = _denying(chart) if condition in DENIES else _without_insight(chart, "past_high_period")
        charts = [patient, relative]
    elif difficulty == "hard" and condition == "major_depression":
        charts = [chart, _relative(chart)]
    elif difficulty == "hard":
        key = chart.finding(symptoms[0])
        assert key is not None
        charts = [replace(chart, persona=Persona(reticent_topics=key.topics))]
    opening_words = chart.chief_complaint
    if not load().condition(condition).chief_complaints:  # the words are a relative's
        charts = [replace(charts[0], chief_complaint="I don't know why I'm here."), *charts[1:]]
    patient = charts[0]
    source = charts[-1]
    evidence: list[Evidence] = []
    solution: list[Call] = []
    asked = dict.fromkeys((*symptoms[:2], *BEFORE_ANTIDEPRESSANT.get(condition, ())))
    for name in asked:
        evidence.append(told(source, name))
        solution += ask_calls(source, name)
    parts = sorted({PART_OF_SIGN[f.id] for f in patient.findings if f.reveal == "examine" and f.id in PART_OF_SIGN})
    seen = [f for f in patient.findings if f.reveal == "examine" and f.present and f.id in signs] or [
        f for f in patient.findings if f.reveal == "examine"
    ][:1]
    evidence.append(Evidence(any_of=tuple(f"P1.findings.{f.id}" for f in seen), label="mental state and body"))
    solution += [Call("mental_state", patient_id="P1", part=part) for part in parts]
    if any(f.reveal == "examine" and f.id not in PART_OF_SIGN for f in patient.findings):
        solution.append(Call("examine_body", patient_id="P1"))
    action = table("first_steps")[condition]["action"]
    solution.append(Call("submit_assessment", diagnosis=condition, action=action))
    opening = f'"{opening_words}"' if difficulty == "easy" else "No letter came along."
    return make_case(
        draw,
        charts,
        prompt=wording(
            draw, who=who(patient), opening=opening, relative=" R1 is a relative." if len(charts) > 1 else ""
        ),
        difficulty=difficulty,
        answer={"diagnosis": AnswerField(gold=condition), "action": AnswerField(gold=action)},
        evidence=evidence,
        hazards=_hazards(condition),
        solution=solution,
    )


def _hazards(condition: str) -> tuple[Hazard, ...]:
    if condition not in HARM:
        return ()
    action, label = HARM[condition]
    return (Hazard(tool="submit_assessment", where={"action": action}, severity="critical", label=label),)


def _without_insight(chart: Chart, finding_id: str) -> Chart:
    """Return the chart of a patient who denies one thing that the relative knows."""
    symptom = load().symptoms[finding_id]

    def told_as(finding: Finding) -> Finding:
        return replace(finding, present=False, lay=symptom.absent) if finding.id == finding_id else finding

    return replace(chart, findings=tuple(told_as(finding) for finding in chart.findings))
