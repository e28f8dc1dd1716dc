"""Alcohol withdrawal by the clock: score, treat or not, wait an hour, score again, treat or not."""

from dataclasses import replace

import numpy as np

from healthgym.tasks import AnswerField, Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Chart

from ..scores.ciwa_ar import ciwa_band, ciwa_total
from .cases import chance, dealt, make_case, person, pick_difficulty, who, wording
from .tables import table

DOSE_FROM = 10
"""CIWA-Ar total from which a dose is given. Source: ASAM, alcohol withdrawal management, 2020."""
COURSES = (("mild", "mild"), ("mild", "moderate"), ("moderate", "mild"), ("moderate", "moderate"), ("severe", "moderate"), ("severe", "severe"), ("moderate", "severe"))  # fmt: skip
"""Severity at the first and at the second score, each as it comes under right treatment."""
RANGES = {"mild": (3, 8), "moderate": (11, 17), "severe": (20, 30)}
"""Totals drawn for each severity; away from the limits 10 and 19."""
OLD_YEARS = 65
DISORIENTED_FROM = 2
"""CIWA-Ar score of orientation from which the date is wrong: confusion, which may be Wernicke's."""


def draw_items(rng: np.random.Generator, severity: str) -> dict[str, int]:
    """Draw item scores, each with an anchor, whose total lies in the range of a severity."""
    words = table("withdrawal_words")
    low, high = RANGES[severity]
    while True:
        items = dict.fromkeys(words, 0)
        while ciwa_total(items) < low:
            name = list(words)[int(rng.integers(len(words)))]
            higher = [score for score in words[name] if score > items[name]]
            if higher:
                items[name] = higher[0]
        if ciwa_total(items) <= high:
            return items


def right_drug(chart: Chart) -> str:
    """Return lorazepam at 65 years and over or with cirrhosis, otherwise diazepam. Source: ASAM, 2020."""
    return "lorazepam" if chart.age_years >= OLD_YEARS or "cirrhosis" in chart.comorbidities else "diazepam"


def right_thiamine(chart: Chart, orientation: int = 0) -> str:
    """Return the route of thiamine: parenteral with signs of Wernicke, cirrhosis or malnutrition.

    Signs are unsteady gait, eye signs and confusion. Sources: NICE CG100, 2017; Caine et al., J Neurol Neurosurg Psychiatry
    1997;62:51-60.

    Args:
        chart: The patient.
        orientation: The item of CIWA-Ar, 0 to 4, at its worst so far.
    """
    signs = chart.finding("ataxia_slurring")
    wernicke = (signs is not None and signs.present) or orientation >= DISORIENTED_FROM
    unwell = wernicke or chart.extra.get("malnourished", False)
    return "parenteral" if unwell or "cirrhosis" in chart.comorbidities else "oral"


def _patient(draw: Draw) -> Chart:
    """Draw a patient who is old in a third of cases; cirrhosis is held out for test_ood."""
    wants_cirrhosis = draw.split == "test_ood" and chance(draw, 0.7)
    age = float(draw.rng.integers(66, 76)) if chance(draw, 0.35) else float(draw.rng.integers(24, 63))
    chart = person(draw, "alcohol_withdrawal", age_years=age)
    illnesses = tuple(name for name in chart.comorbidities if name != "cirrhosis")
    findings = tuple(f for f in chart.findings if f.reveal == "examine")
    ataxic = chance(draw, 0.3)
    findings = tuple(
        replace(
            f,
            present=ataxic,
            text="Unsteady gait, eyes drift sideways." if ataxic else "Steady gait, eyes move freely.",
        )
        if f.id == "ataxia_slurring"
        else f
        for f in findings
    )
    malnourished = chance(draw, 0.2)
    notes = (
        "Nursing note: eats hardly anything, has lost 9 kg since spring."
        if malnourished
        else "Nursing note: eats well."
    )
    return replace(
        chart,
        comorbidities=(*illnesses, "cirrhosis") if wants_cirrhosis else illnesses,
        findings=findings,
        allergies=(),
        medications=(),
        extra={"malnourished": malnourished, "notes": notes},
    )


@task_family(counts={"train": 49, "val": 6, "test": 10, "test_ood": 6}, version=2)
def alcohol_withdrawal(draw: Draw) -> Case:
    """Symptom-triggered treatment over an hour; easy cases need no second dose, hard ones change course."""
    difficulty = pick_difficulty(draw)
    steady = [pair for pair in COURSES if pair[0] == pair[1] or pair[1] == "mild"]
    rising = [pair for pair in COURSES if pair not in steady]
    first, second = dealt(draw, {"easy": steady, "medium": COURSES, "hard": rising}[difficulty])
    chart = _patient(draw)
    courses = {"first": draw_items(draw.rng, first), "treated": draw_items(draw.rng, second)}
    doses_now, doses_later = first != "mild", second != "mild"
    if doses_now:
        courses["untreated"] = draw_items(draw.rng, "severe")
    else:
        courses["untreated"], courses["treated"] = courses["treated"], draw_items(draw.rng, "mild")
    later = "treated" if doses_now else "untreated"
    while courses[later] == courses["first"]:  # the same words again would look like a wasted look
        courses[later] = draw_items(draw.rng, second)
    seen_later = courses[later]
    chart = replace(chart, extra={**chart.extra, "withdrawal": courses})
    now, later_on = courses["first"]["orientation"], seen_later["orientation"]
    route, later_route = right_thiamine(chart, now), right_thiamine(chart, max(now, later_on))
    drug = right_drug(chart)
    dose = Call("give_dose", patient_id="P1", drug=drug)
    doses = "+".join([drug] * (doses_now + doses_later))
    total, later_total = ciwa_total(courses["first"]), ciwa_total(seen_later)
    answer = {"total": AnswerField(gold=total), "second_total": AnswerField(gold=later_total)}
    answer["category"] = AnswerField(gold=ciwa_band(total))
    evidence = [
        Evidence(any_of=("P1.withdrawal.first.tremor",), label="first score"),
        Evidence(any_of=("P1.withdrawal.later.tremor",), label="score after an hour"),
        Evidence(any_of=("P1.comorbidities",), label="age and illnesses"),
        Evidence(any_of=("P1.body_examined",), label="gait and eyes"),
        Evidence(any_of=("P1.notes",), label="nutrition"),
    ]
    solution = [
        Call("read_record", patient_id="P1", section="history"),
        Call("read_record", patient_id="P1", section="notes"),
        Call("examine_body", patient_id="P1"),
        Call("observe_withdrawal", patient_id="P1"),
        Call("ciwa_ar", **courses["first"]),
        *([dose] if doses_now else []),
        Call("give_thiamine", patient_id="P1", route=route),
        Call("wait", minutes=60),
        Call("observe_withdrawal", patient_id="P1"),
        Call("ciwa_ar", **seen_later),
        *([dose] if doses_later else []),
        *([Call("give_thiamine", patient_id="P1", route=later_route)] if later_route != route else []),
        Call("submit_assessment", total=total, second_total=later_total, category=ciwa_band(total)),
    ]
    return make_case(
        draw,
        [chart],
        prompt=wording(draw, who=who(chart)),
        difficulty=difficulty,
        answer=answer,
        end_state={"P1.doses": doses or None, "P1.thiamine": later_route},
        evidence=evidence,
        solution=solution,
    )
