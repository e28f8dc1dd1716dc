"""The family about going home: stable or not, LACE, follow-up, summary."""

from typing import Any

from healthgym.knowledge_base import load
from healthgym.knowledge_base.pharmacology import load_drugs
from healthgym.tasks import AnswerField, Call, Case, Evidence, Hazard, task_family
from healthgym.tasks.families import Draw

from ..scores.lace import lace_comorbidity_sum, lace_parts, lace_risk
from .admission import pick, write_order, write_visit
from .assembly import difficulty_of, make_case, seen, wording
from .course import draw_labs, draw_vital_signs, morning_hours, write_vital_signs
from .illness import stay_with_problems
from .notes import write_admission_note, write_nursing_notes, write_progress_notes
from .orders import allergy_reason
from .record import admitted, now, select, values
from .timeline import days_between, stamp

STABLE = {
    "temperature_c": 36.8, "heart_rate_per_min": 80, "respiratory_rate_per_min": 16, "systolic_bp_mmhg": 124,
    "diastolic_bp_mmhg": 74, "spo2_percent": 96, "gcs": 15,
}  # fmt: skip
UNSTABLE: tuple[tuple[str, tuple[float, ...]], ...] = (
    ("temperature_c", (38.2, 38.6, 38.9)),
    ("heart_rate_per_min", (108, 114, 121)),
    ("respiratory_rate_per_min", (26, 28, 30)),
    ("systolic_bp_mmhg", (82, 85, 88)),
    ("spo2_percent", (85, 87, 88)),
    ("gcs", (12, 13, 14)),
)
"""Signs beyond the limits at which a patient is not fit to leave: temperature above 37.8 C, heart rate above 100, respiratory rate
above 24, systolic pressure below 90, SpO2 below 90 %, altered mentation. Source: Halm et al., Arch Intern Med 2002;162:1278."""
STEADY_HOURS = 12.0
NEW_DRUGS = (
    "pantoprazole",
    "amlodipine",
    "prednisolone",
    "doxycycline",
    "ferrous_sulfate",
    "atorvastatin",
    "furosemide",
    "metoprolol",
)
PENDING = (
    ("histology of the biopsy", ("histology", "biopsy")),
    ("thyroid function sent to the outside laboratory", ("thyroid",)),
    ("final reading of the echocardiogram", ("echocardiogram", "echo")),
    ("vitamin B12 level", ("vitamin b12", "b12")),
    ("mycobacterial culture, read after 6 weeks", ("mycobacterial culture", "mycobacterial", "tuberculosis culture")),
)
FOLLOW_UP_DAYS = {"high": 7, "moderate": 14, "low": 30}
"""Latest follow-up by LACE risk: the hospital's rule, stated in guideline.md."""
SOURCE = "van Walraven et al., CMAJ 2010;182:551; Halm et al., Arch Intern Med 2002;162:1278"


@task_family(counts={"train": 42, "val": 5, "test": 8, "test_ood": 5})
def discharge_decision(draw: Draw) -> Case:
    """Decide whether the patient may go; if so, score LACE, book follow-up, write the summary, discharge; else call the doctor."""
    difficulty, rng = difficulty_of(draw), draw.rng
    days = int(pick(rng, {"easy": [1, 2, 3], "medium": [2, 4, 6, 8], "hard": [3, 5, 9, 14]}[difficulty]))
    stay, chosen = stay_with_problems(
        draw, 24.0 * days + 3, int(rng.integers(0, 3)) + (difficulty == "hard"), 2, apart=int(difficulty == "hard")
    )
    write_admission_note(stay)
    write_progress_notes(stay)
    write_nursing_notes(stay)
    draw_labs(stay.book, stay.chart, rng, morning_hours(stay.admission_hour, stay.hours))
    draw_vital_signs(stay.book, stay.chart, rng, stay.hours - STEADY_HOURS - 1, every=8.0)
    ready = bool(rng.random() < 0.6)
    bad, levels = pick(rng, UNSTABLE)
    for number, before in enumerate((11.0, 7.0, 3.0, 0.5)):
        detail = {**STABLE, "heart_rate_per_min": 76 + number * 3, "temperature_c": 36.6 + number / 10}
        if not ready and (difficulty != "hard" or number == 2):
            detail[bad] = float(pick(rng, levels))
        write_vital_signs(stay.book, stay.hours - before, detail)
    visits = int(rng.integers(0, 4 if difficulty != "easy" else 2))
    for _ in range(visits):
        write_visit(stay, float(rng.integers(8, 170)), "emergency", "seen and sent home")
    for _ in range(int(rng.integers(0, 3)) if difficulty != "easy" else 0):
        write_visit(stay, float(rng.integers(200, 330)), "emergency", "seen and sent home")
    new = [d for d in NEW_DRUGS if allergy_reason(d, stay.chart) is None]
    started = [new[int(i)] for i in rng.permutation(len(new))[: 1 if difficulty == "easy" else 2]]
    for drug in started:
        dose = load_drugs()[drug].usual_dose
        if dose is not None:
            write_order(stay, drug, dose.dose_mg, dose.times_per_day, hours=20.0, route="oral")
    title, words = pick(rng, PENDING)
    stay.book.add("DiagnosticReport", "pending", stay.hours - 14, f"{title}: result pending", status="registered")
    chart = stay.finish()
    pid = chart.patient_id
    names = {name for item in chosen for name in item["lace"]}
    parts = lace_parts(days_between(admitted(chart), now(chart)), True, lace_comorbidity_sum(names), visits)
    score = sum(parts.values())
    risk = lace_risk(score)
    since = stamp(stay.book.admitted, stay.hours - STEADY_HOURS)
    sets = values(chart, "vital_signs", since)
    evidence = [
        seen(chart, sets, "vital signs of the last 12 hours", at_least=len(sets)),
        Evidence(any_of=(f"{pid}.problems",), label="the problem list"),
        seen(chart, select(chart, resource="Encounter"), "earlier encounters"),
    ]
    look = [
        Call("patient_summary", patient_id=pid),
        Call("get_vital_signs", patient_id=pid, since=since),
        Call("problem_list", patient_id=pid),
        Call("list_encounters", patient_id=pid),
        Call(
            "lace", length_of_stay_days=days_between(admitted(chart), now(chart)), acute_admission=True,
            comorbidities=sorted(names), emergency_visits_6_months=visits,
        ),
    ]  # fmt: skip
    act, end_state = _leave(pid, chart.condition, started, words, FOLLOW_UP_DAYS[risk]) if ready else _stay_in(pid, bad)
    if ready:
        evidence += [
            Evidence(any_of=(f"{pid}.orders",), label="what is ordered now"),
            seen(chart, select(chart, code="pending"), "results that are pending"),
        ]
        look += [
            Call("active_orders", patient_id=pid),
            Call("search_records", patient_id=pid, resource="DiagnosticReport"),
        ]
    return make_case(
        draw,
        chart,
        prompt=wording(draw, patient=pid),
        answer={
            "ready": AnswerField(gold=ready, weight=2.0),
            "sign": AnswerField(gold="none" if ready else bad),
            "score": AnswerField(gold=score),
            "risk": AnswerField(gold=risk),
        },
        evidence=evidence,
        look=look,
        act=act,
        end_state=end_state,
        hazards=() if ready else (Hazard(tool="discharge", severity="critical", label="sent home unstable"),),
        source=SOURCE,
        tags={"discharge": "ready" if ready else "not ready"},
    )


def _leave(
    pid: str, condition: str, started: list[str], words: tuple[str, ...], days: int
) -> tuple[list[Call], dict[str, Any]]:
    """Return what the oracle does for a patient who may go, and how the chart must then look."""
    profile = load().condition(condition)
    diagnosis = (profile.name, *profile.aliases, condition)
    if condition == "sepsis":
        diagnosis = (*diagnosis, "septic")
    gold = (diagnosis, *started, words)
    text = (
        f"Discharge summary. Diagnosis: {profile.name}. New medicines: {', '.join(started)}. Result still pending: {words[0]}. "
        f"Follow-up in primary care within {days} days."
    )
    act = [
        Call("book_follow_up", patient_id=pid, service="primary_care", within_days=days),
        Call("write_note", patient_id=pid, kind="discharge_summary", text=text),
        Call("discharge", patient_id=pid, destination="home"),
    ]
    end_state = {
        f"{pid}.note.discharge_summary": AnswerField(gold=gold, compare="mentions", max_words=200, weight=2.0),
        f"{pid}.follow_up_days": {"ge": 1, "le": days},
        f"{pid}.discharged": {"ne": None},
    }
    return act, end_state


def _stay_in(pid: str, sign: str) -> tuple[list[Call], dict[str, Any]]:
    """Return what the oracle does for a patient who may not go."""
    concern = f"not fit to leave: {sign.rsplit('_', 1)[0].replace('_', ' ')} out of range"
    return [Call("call_clinician", patient_id=pid, concern=concern)], {
        f"{pid}.called": {"ne": None},
        f"{pid}.discharged": None,
    }
