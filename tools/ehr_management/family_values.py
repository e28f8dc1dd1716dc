"""Families about single values: the last before a moment, the extreme of a window, the course between two moments."""

from healthgym.knowledge_base import load
from healthgym.tasks import AnswerField, Call, Case, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Chart

from .admission import Admission, admit, conditions_for, pick, write_background, write_visit
from .assembly import difficulty_of, make_case, seen, wording
from .course import PANEL, draw_labs, draw_vital_signs, morning_hours, write_lab
from .notes import write_admission_note, write_nursing_notes, write_progress_notes
from .record import IN_ERROR, Entry, need, signs, values

SIGNS = {
    "heart_rate_per_min": "heart rate (per min)",
    "systolic_bp_mmhg": "systolic blood pressure (mmHg)",
    "temperature_c": "temperature (C)",
    "respiratory_rate_per_min": "respiratory rate (per min)",
    "spo2_percent": "SpO2 (%)",
}
COURSES: dict[str, tuple[float, float]] = {
    "creatinine": (0.8, 1.6), "wbc": (8, 15), "platelets": (160, 320), "crp": (4, 14), "urea_nitrogen": (14, 30),
    "hemoglobin": (10, 14), "bilirubin_total": (0.8, 2.0), "lactate": (1.6, 3.2), "alt": (40, 120),
}  # fmt: skip
"""Analytes whose course is planned, with the range of the first value: plausible in any acute illness; a design choice."""
MOST_SIGN_HOURS = 80.0
"""Longest window asked about for vital signs: what one call lists."""
TREND_SHARE = 0.20
"""A change of at least this share of the first value counts as a trend: the rule that guideline.md gives."""
SOURCE = "gold: the record's own entries; those entered in error do not count"


def ordinary_stay(draw: Draw, days: tuple[int, int]) -> Admission:
    """Return a stay with background and notes, of so many days, results still to be written."""
    condition = pick(draw.rng, conditions_for(draw))
    hours = 24.0 * int(draw.rng.integers(days[0], days[1] + 1)) + float(draw.rng.integers(1, 12))
    stay = admit(draw, condition, hours=hours)
    write_background(stay)
    write_admission_note(stay)
    write_progress_notes(stay)
    write_nursing_notes(stay)
    return stay


@task_family(counts={"train": 42, "val": 5, "test": 8, "test_ood": 5})
def value_lookup(draw: Draw) -> Case:
    """Find one value: the last before a moment, or the extreme of a window, without what was entered in error."""
    difficulty, rng = difficulty_of(draw), draw.rng
    stay = ordinary_stay(draw, {"easy": (2, 3), "medium": (4, 6), "hard": (6, 9)}[difficulty])
    rounds = morning_hours(stay.admission_hour, stay.hours)
    if difficulty != "easy":
        rounds = sorted([*rounds, *(hour + 10 for hour in rounds[1:] if hour + 10 < stay.hours)])
    draw_labs(stay.book, stay.chart, rng, rounds)
    draw_vital_signs(stay.book, stay.chart, rng, stay.hours)
    name = str(pick(rng, [*PANEL, *SIGNS] if difficulty == "medium" else PANEL))
    if difficulty == "hard":
        for hour in rounds[1:-1]:
            if rng.random() < 0.35:
                factor = float(rng.choice([0.6, 1.7]))
                near = float(stay.chart.lab_results[name].value) * factor
                write_lab(stay.book, name, hour + 2, near, status=IN_ERROR, remark="sample of another patient")
    chart = stay.finish()
    wants = "last" if difficulty == "easy" else str(pick(rng, ["highest", "lowest"]))
    begin = 0.0 if difficulty == "easy" else rounds[1] - 3
    end = (
        rounds[int(rng.integers(1, len(rounds)))] + 3
        if difficulty == "easy"
        else stay.hours - float(rng.integers(4, 14))
    )
    if name in SIGNS:
        begin = max(begin, end - MOST_SIGN_HOURS)
    since, until = stay.stamp(begin), stay.stamp(end)
    found = [(e, v) for e, v in _series(chart, name, since, until)]
    need([e for e, _ in found], f"{name} in the window")
    goal = found[-1][1] if wants == "last" else (max if wants == "highest" else min)(v for _, v in found)
    moments = [e["time"] for e, v in found if v == goal]
    golds = [e for e, v in found if v == goal]
    if wants == "last":
        moments, golds = moments[-1:], golds[-1:]
    unit = "" if name in SIGNS else load().analytes[name].unit
    label = SIGNS.get(name, f"{name.replace('_', ' ')} ({unit})")
    question = (
        f"the last {label} at or before {until}" if wants == "last" else f"the {wants} {label} from {since} to {until}"
    )
    tool = "get_vital_signs" if name in SIGNS else "get_labs"
    named = {} if name in SIGNS else {"analyte": name}
    return make_case(
        draw,
        chart,
        prompt=wording(draw, patient=chart.patient_id, question=question),
        answer={
            "value": AnswerField(gold=goal, compare="range", tolerance=0.0, unit=unit, weight=2.0),
            "at": AnswerField(gold=moments[0], accept=tuple(moments[1:])),
        },
        evidence=(
            seen(chart, golds, "the entry asked for")
            if wants == "last"
            else seen(chart, [e for e, _ in found], "every entry of the window", at_least=len(found)),
        ),
        look=(Call(tool, patient_id=chart.patient_id, since=since, until=until, **named),),
        source=SOURCE,
    )


@task_family(counts={"train": 35, "val": 4, "test": 7, "test_ood": 4})
def trend_question(draw: Draw) -> Case:
    """Say whether a result rises, falls or stays, by how much, and when it peaked."""
    difficulty, rng = difficulty_of(draw), draw.rng
    stay = ordinary_stay(draw, {"easy": (3, 4), "medium": (5, 7), "hard": (6, 9)}[difficulty])
    rounds = morning_hours(stay.admission_hour, stay.hours)
    wanted = str(pick(rng, ["rising", "falling", "stable"]))
    name = str(pick(rng, list(COURSES)))
    low, high = COURSES[name]
    first = float(rng.uniform(low, high))
    ratio = {
        "rising": float(rng.uniform(1.35, 2.1)), "falling": float(rng.uniform(0.45, 0.7)), "stable": float(rng.uniform(0.92, 1.08)),
    }[wanted]  # fmt: skip
    middle = first * (1 + ratio) / 2 * (float(rng.uniform(0.85, 1.25)) if difficulty != "easy" else 1.0)
    begin, end = rounds[1], rounds[-1]
    plan = (
        (0.0, first),
        (begin, first),
        ((begin + end) / 2, middle),
        (end, first * ratio),
        (stay.hours + 1, first * ratio),
    )
    draw_labs(stay.book, stay.chart, rng, rounds, plans={name: plan})
    draw_vital_signs(stay.book, stay.chart, rng, stay.hours)
    if difficulty == "hard":
        wrong = first * (1.9 if wanted != "rising" else 0.5)
        write_lab(stay.book, name, end + 0.5, wrong, status=IN_ERROR, remark="haemolysed, repeat requested")
        write_visit(stay, float(rng.integers(40, 200)), "outpatient", "check of blood tests")
        write_lab(stay.book, name, -24.0 * 30, first * float(rng.uniform(0.7, 1.3)))
    chart = stay.finish()
    since, until = stay.stamp(begin - 1), stay.stamp(end + 1)
    found = values(chart, name, since, until)
    peak = max(e["value"] for e in found)
    moments = [e["time"] for e in found if e["value"] == peak]
    change = round(found[-1]["value"] - found[0]["value"], 2)
    unit = load().analytes[name].unit
    answer = {
        "trend": AnswerField(gold=trend_of(found)),
        "value": AnswerField(gold=change, compare="range", tolerance=0.01, unit=unit, weight=2.0),
    }
    if difficulty != "easy":
        answer["at"] = AnswerField(gold=moments[0], accept=tuple(moments[1:]))
    pid = chart.patient_id
    return make_case(
        draw,
        chart,
        prompt=wording(
            draw,
            patient=pid,
            analyte=f"{name.replace('_', ' ')} ({unit})",
            since=since,
            until=until,
            fields="trend and value"
            if difficulty == "easy"
            else "trend, value, and at, the moment of the highest result",
        ),
        answer=answer,
        evidence=(seen(chart, found, "every result of the window", at_least=len(found)),),
        look=(Call("lab_trend", patient_id=pid, analyte=name, since=since, until=until),),
        source=f"{SOURCE}; trend: a change of {TREND_SHARE:.0%}",
    )


def trend_of(found: list[Entry]) -> str:
    """Return rising, falling or stable by the change from the first to the last value."""
    share = (found[-1]["value"] - found[0]["value"]) / found[0]["value"]
    return "rising" if share >= TREND_SHARE else "falling" if share <= -TREND_SHARE else "stable"


def _series(chart: Chart, name: str, since: str, until: str) -> list[tuple[Entry, float]]:
    """Return (entry, value) of an analyte or vital sign within a window."""
    if name in SIGNS:
        return list(signs(chart, name, since, until))
    return [(entry, entry["value"]) for entry in values(chart, name, since, until)]
