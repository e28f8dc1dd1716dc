"""Gestational diabetes: one-step and two-step screening, and insulin when diet does not suffice."""

from collections.abc import Sequence

from healthgym.tasks import Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw

from ..scores.gestational_diabetes import (
    CHALLENGE_LIMIT,
    ONE_STEP_LIMITS,
    TWO_STEP_LIMITS,
    one_step_diagnosis,
    two_step_diagnosis,
)
from .cases import COUNTS, difficulty_of, make_case, read, record_read, scenario, seen, whole
from .women import told, woman

SCENARIOS = (
    "one_step_positive", "two_step_one_value", "diary_off_target", "one_step_negative", "two_step_positive",
    "challenge_negative", "diary_on_target", "overt", "diary_meals_off_target",
)  # fmt: skip
HELD_OUT = ("overt", "diary_meals_off_target", "challenge_negative")
WAIT = {"ogtt_75g": 150, "ogtt_100g": 210, "glucose_challenge_50g": 75}
TARGETS = (95, 140)


@task_family(counts=COUNTS)
def gestational_diabetes(draw: Draw) -> Case:
    """Screen by the method that her record names, diagnose, and start what follows."""
    name = scenario(draw, SCENARIOS, HELD_OUT)
    return _diary(draw, name) if name.startswith("diary") else _screening(draw, name)


def _screening(draw: Draw, name: str) -> Case:
    level = difficulty_of(draw)
    two_step = name.startswith(("two_step", "challenge"))
    challenge = whole(draw, 90, CHALLENGE_LIMIT - 1) if name == "challenge_negative" else whole(draw, 140, 185)
    values = _values(draw, name, TWO_STEP_LIMITS if two_step else ONE_STEP_LIMITS, near=level != "easy")
    test = "ogtt_100g" if two_step else "ogtt_75g"
    hours = ", ".join(f"{hour} h {value}" for hour, value in enumerate(values[1:], 1))
    results = {"glucose_challenge_50g": f"1 h {challenge} mg/dL", test: f"fasting {values[0]}, {hours} mg/dL"}
    if name == "challenge_negative":
        diagnosis = "no_gestational_diabetes"
    else:
        diagnosis = two_step_diagnosis(*values) if two_step else one_step_diagnosis(*values)
    plan = {
        "no_gestational_diabetes": "routine_care",
        "gestational_diabetes": "diet_and_glucose_checks",
        "overt_diabetes": "start_insulin",
    }[diagnosis]
    steps = ["glucose_challenge_50g"] if two_step else []
    steps += [] if name == "challenge_negative" else [test]
    ready = list(steps) if level == "easy" else steps[:1] if level == "medium" and two_step else []
    method = "two-step (50 g, then 100 g)" if two_step else "one-step (75 g)"
    shown = "; ".join(f"{_named(step)}: {results[step]}" for step in ready)
    chart = woman(
        draw,
        complaint="I'm here for my sugar test.",
        gestation_days=whole(draw, 24 * 7, 28 * 7 + 6),
        tests=results,
        record={"visits": f"Glucose screening here: {method}. Results: {shown or 'none yet'}."},
    )
    orders = [step for step in steps if step not in ready]
    evidence = [record_read("visits")]
    evidence += [seen(f"P1.tests.{step}", _named(step)) for step in orders]
    calls: list[Call] = [read("visits")]
    for step in orders:
        calls += [
            Call("order_test", patient_id="P1", test=step),
            Call("wait", minutes=WAIT[step]),
        ]
    return make_case(
        draw, [chart], answer={"diagnosis": diagnosis, "plan": plan}, evidence=evidence, solution=calls, topic=name
    )


def _values(draw: Draw, name: str, limits: Sequence[int], *, near: bool) -> list[int]:
    """Return the values of a test: the wanted number at or above their limits, near them when `near`."""
    high, low = (8, 8) if near else (35, 30)
    count = {"one_step_positive": 1, "two_step_one_value": 1, "two_step_positive": 2, "overt": 3}.get(name, 0)
    above = set(draw.rng.permutation(len(limits))[:count].tolist())
    values = []
    for place, limit in enumerate(limits):
        least = max(60, limit - low - (22 if place else 8))
        values.append(whole(draw, limit, limit + high) if place in above else whole(draw, least, limit - 1))
    if name == "overt":
        values[0] = whole(draw, 127, 150)
    return values


def _diary(draw: Draw, name: str) -> Case:
    level = difficulty_of(draw)
    fasting_off = {"diary_off_target": whole(draw, 4, 7), "diary_on_target": whole(draw, 0, 2)}.get(name, 2)
    meals_off = whole(draw, 4, 7) if name == "diary_meals_off_target" else whole(draw, 0, 2)
    fasting = _week(draw, TARGETS[0], fasting_off, level)
    meals = _week(draw, TARGETS[1], meals_off, level)
    words = f"This week fasting: {_list(fasting)}. One hour after breakfast: {_list(meals)}."
    off = max(sum(value >= TARGETS[0] for value in fasting), sum(value >= TARGETS[1] for value in meals))
    insulin = off * 2 >= len(fasting)
    chart = woman(
        draw,
        complaint="I brought my sugar diary.",
        gestation_days=whole(draw, 27 * 7, 34 * 7),
        findings=[
            told("glucose_diary", words, ("sugar", "glucose", "diary", "fasting", "readings", "values", "numbers"))
        ],
        record={
            "visits": "Gestational diabetes found by screening; on diet with glucose checks for 2 weeks."
            + (f" Diary: {words}" if level == "easy" else " Brings her diary today.")
        },
    )
    keys = ("P1.findings.glucose_diary", "P1.record.visits") if level == "easy" else ("P1.findings.glucose_diary",)
    asked = Call("ask_patient", patient_id="P1", question="What are the fasting sugar readings in your diary?")
    return make_case(
        draw,
        [chart],
        answer={"diagnosis": "gestational_diabetes", "plan": "start_insulin" if insulin else "continue_diet"},
        evidence=(record_read("visits"), Evidence(any_of=keys, label="glucose diary")),
        solution=(read("visits"),) if level == "easy" else (read("visits"), asked),
        topic=name,
    )


def _week(draw: Draw, target: int, off: int, level: str) -> list[int]:
    spread = 20 if level == "easy" else 7
    values = [whole(draw, target, target + spread) for _ in range(off)]
    values += [whole(draw, target - 14, target - 1) for _ in range(7 - off)]
    return [values[place] for place in draw.rng.permutation(7)]


def _list(values: Sequence[int]) -> str:
    return ", ".join(str(value) for value in values)


def _named(step: str) -> str:
    return {"glucose_challenge_50g": "50 g challenge", "ogtt_75g": "75 g test", "ogtt_100g": "100 g test"}[step]
