"""Suicide risk: the screener asked in full, a level, what must happen now, and a safety plan in the patient's own terms."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from healthgym.tasks import AnswerField, Call, Case, Deadline, Hazard, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Chart, Finding, Persona

from ..scores.columbia_screen import columbia_level
from .asking import ask_calls, told
from .cases import by_split, chance, dealt, make_case, person, pick, pick_difficulty, who, wording
from .tables import table

CONDITIONS = (
    "major_depression", "bipolar_depression", "generalised_anxiety", "post_traumatic_stress", "suicidal_crisis",
    "obsessive_compulsive_disorder", "first_episode_psychosis",
)  # fmt: skip
HELD_OUT = ("obsessive_compulsive_disorder", "first_episode_psychosis")
ITEMS = (
    "wish_to_be_dead", "suicidal_thoughts", "thought_of_method", "some_intent", "plan_with_intent", "behaviour_ever",
    "behaviour_within_3_months",
)  # fmt: skip
DISPOSITION = {
    "none": "home",
    "low": "outpatient_referral",
    "moderate": "same_day_assessment",
    "high": "admission_assessment",
}
PATTERNS: Mapping[str, tuple[tuple[int, ...], ...]] = {
    "none": ((0, 0, 0, 0, 0, 0, 0),),
    "low": ((1, 0, 0, 0, 0, 0, 0), (1, 1, 0, 0, 0, 0, 0)),
    "moderate": ((1, 1, 1, 0, 0, 0, 0), (1, 1, 1, 0, 0, 1, 0), (1, 0, 0, 0, 0, 1, 0), (1, 1, 0, 0, 0, 1, 0)),
    "high": ((1, 1, 1, 1, 0, 0, 0), (1, 1, 1, 1, 1, 0, 0), (1, 1, 0, 0, 0, 1, 1), (1, 1, 1, 1, 0, 1, 1), (1, 0, 0, 0, 0, 1, 1)),
}  # fmt: skip
"""Answers by level, in the order of ITEMS. Screener rule: without thoughts (2), items 3 to 5 are not asked and count 0."""
PLAN_PARTS = ("warning_sign", "coping", "contact", "home_safety")
PERSONAL_PARTS = ("coping", "contact")
"""Parts in which another patient's words speak against a plan: it was not made with this one."""


def _findings(draw: Draw, answers: Mapping[str, bool], plan: Mapping[str, Mapping[str, Any]]) -> tuple[Finding, ...]:
    words = table("suicide_words")
    asked = [
        Finding(
            id=name,
            reveal="ask",
            present=present,
            text=words[name]["about"],
            lay=pick(draw, words[name]["yes"] if present else words[name]["no"]),
            topics=tuple(words[name]["topics"]),
        )
        for name, present in answers.items()
    ]
    for part, choice in plan.items():
        topics = tuple(words[part]["topics"])
        asked.append(
            Finding(id=part, reveal="ask", present=True, text=words[part]["about"], lay=choice["lay"], topics=topics)
        )
    return tuple(asked)


def _relative(draw: Draw, patient: Chart, knows_of_attempt: bool) -> Chart:
    """Return a relative who knows of an attempt, or of none."""
    words = table("suicide_words")["behaviour_within_3_months"]
    finding = Finding(
        id="behaviour_within_3_months",
        reveal="ask",
        present=knows_of_attempt,
        text=words["about"],
        lay=words["relative_yes"] if knows_of_attempt else words["relative_no"],
        topics=tuple(words["topics"]),
    )
    return Chart(
        patient_id="R1",
        age_years=float(draw.rng.integers(30, 70)),
        sex=pick(draw, ("female", "male")),
        weight_kg=70.0,
        chief_complaint="I just want somebody to look after them properly.",
        findings=(finding,),
        persona=Persona(informant="relative"),
    )


@task_family(counts={"train": 49, "val": 6, "test": 10, "test_ood": 6}, version=2)
def suicide_risk(draw: Draw) -> Case:
    """Screen, conclude, act; hard cases hide recent behaviour that only a relative tells."""
    difficulty = pick_difficulty(draw)
    level = dealt(draw, ("none", "low", "moderate", "high"))
    answers = dict(zip(ITEMS, map(bool, pick(draw, PATTERNS[level])), strict=True))
    plan = {part: pick(draw, table("suicide_words")[part]["choices"]) for part in PLAN_PARTS}
    chart = person(draw, pick(draw, by_split(draw, CONDITIONS, HELD_OUT)), age_years=float(draw.rng.integers(18, 76)))
    hidden = difficulty == "hard" and answers["behaviour_within_3_months"]
    said = {**answers, "behaviour_within_3_months": False, "behaviour_ever": False} if hidden else answers
    chart = replace(chart, findings=_findings(draw, said, plan))
    held_back = {"easy": "", "medium": "suicidal_thoughts", "hard": pick(draw, ("wish_to_be_dead", "some_intent"))}
    finding = chart.finding(held_back[difficulty]) if held_back[difficulty] else None
    if finding is not None and (finding.id != "some_intent" or answers["suicidal_thoughts"]):
        chart = replace(chart, persona=replace(chart.persona, reticent_topics=finding.topics))
    charts = [chart]
    if difficulty == "hard" or chance(draw, 0.3):
        charts.append(_relative(draw, chart, answers["behaviour_within_3_months"]))
    return _case(draw, charts, answers, level, plan, difficulty)


def _case(draw: Draw, charts: list[Chart], answers: Mapping[str, bool], level: str, plan: Any, difficulty: Any) -> Case:
    chart = charts[0]
    needed = [
        n
        for n in ITEMS
        if answers["suicidal_thoughts"] or n not in ("thought_of_method", "some_intent", "plan_with_intent")
    ]
    evidence, high_fact = [], ""
    solution: list[Call] = []
    for name in needed:
        evidence.append(told(chart, name))
        solution += ask_calls(chart, name)
    if len(charts) > 1:
        evidence.append(told(charts[1], "behaviour_within_3_months"))
        solution += ask_calls(charts[1], "behaviour_within_3_months")
    deadlines: list[Deadline] = []
    end_state: dict[str, Any] = {}
    if level == "high":
        solution, high_fact = _observed_at_once(charts, solution)
        deadlines.append(
            Deadline(
                tool="set_observation",
                where={"patient_id": "P1", "level": "one_to_one"},
                after=high_fact,
                within_minutes=15,
                severity="critical",
                label="high risk left alone",
            )
        )
        end_state["P1.observation"] = "one_to_one"
    else:
        end_state["P1.observation"] = {"ne": "one_to_one"}
    if level in ("low", "moderate"):
        for part in PLAN_PARTS:
            evidence.append(told(chart, part))
            solution += ask_calls(chart, part)
        solution.append(_plan_call(plan))
        gold = tuple(tuple(plan[part]["mentions"]) for part in PLAN_PARTS) + (
            ("crisis line", "crisis team", "emergency"),
        )
        words = table("suicide_words")
        others = [c for part in PERSONAL_PARTS for c in words[part]["choices"] if c != plan[part]]
        unwanted = tuple(tuple(choice["mentions"]) for choice in others)
        end_state["P1.safety_plan"] = AnswerField(
            gold=gold, compare="mentions", unwanted=unwanted, max_words=120, weight=2.0
        )
    scores = [{"item": name, "score": int(present)} for name, present in answers.items()]
    solution += [
        Call("cssrs_screen", **dict(answers)),
        Call("submit_assessment", item_scores=scores, risk_level=level, disposition=DISPOSITION[level]),
    ]
    return make_case(
        draw,
        charts,
        prompt=wording(draw, who=who(chart), relative=" A relative (R1) has come along." if len(charts) > 1 else ""),
        difficulty=difficulty,
        answer={
            "item_scores": AnswerField(gold=tuple(scores), compare="items", match=("item",)),
            "risk_level": AnswerField(gold=columbia_level(**answers)),
            "disposition": AnswerField(gold=DISPOSITION[level]),
        },
        evidence=evidence,
        solution=solution,
        end_state=end_state,
        deadlines=deadlines,
        hazards=_hazards(level),
    )


def _observed_at_once(charts: list[Chart], questions: list[Call]) -> tuple[list[Call], str]:
    """Return the questions with observation set as soon as a fact of high risk is told, and that fact."""
    high = ("some_intent", "plan_with_intent", "behaviour_within_3_months")
    for chart in charts:
        for name in high:
            finding = chart.finding(name)
            if finding is not None and finding.present:
                told_by = ask_calls(chart, name)[-1]
                place = max(
                    index for index, call in enumerate(questions) if dict(call.arguments) == dict(told_by.arguments)
                )
                watch = Call("set_observation", patient_id="P1", level="one_to_one")
                return [*questions[: place + 1], watch, *questions[place + 1 :]], f"{chart.patient_id}.findings.{name}"
    raise ValueError("a high level needs a fact of high risk")


def _plan_call(plan: Mapping[str, Mapping[str, Any]]) -> Call:
    return Call(
        "write_safety_plan",
        patient_id="P1",
        warning_signs=plan["warning_sign"]["note"],
        coping=plan["coping"]["note"],
        people=plan["contact"]["note"],
        professionals="crisis line, this clinic",
        safe_place=plan["home_safety"]["note"],
    )


def _hazards(level: str) -> tuple[Hazard, ...]:
    unsafe = {"high": ["home", "outpatient_referral"], "moderate": ["home"]}.get(level)
    asked = Hazard(
        tool="submit_assessment",
        where={"disposition": {"in": ["home", "outpatient_referral"]}},
        severity="critical",
        label="sent away without asking about suicidal thoughts",
        unless_known=("P1.findings.suicidal_thoughts",),
    )
    if unsafe is None:
        return (asked,)
    sent = Hazard(
        tool="submit_assessment", where={"disposition": {"in": unsafe}}, severity="critical", label="sent away at risk"
    )
    return (asked, sent)
