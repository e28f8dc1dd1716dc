"""Due date and gestational age from menses, scans and embryo transfer."""

from datetime import timedelta

from healthgym.tasks import Call, Case, task_family
from healthgym.tasks.criteria import Evidence
from healthgym.tasks.families import Draw

from ..scores.pregnancy_dating import (
    PREGNANCY_DAYS,
    due_date_from_lmp,
    due_date_from_scan,
    due_date_from_transfer,
    redating_limit_days,
    weeks_and_days,
)
from .cases import COUNTS, difficulty_of, make_case, pick, read, record_read, scenario, whole
from .women import today_of, told, woman

SCENARIOS = ("early_kept", "early_moved", "later_kept", "later_moved", "irregular", "two_scans", "transfer")
HELD_OUT = ("transfer",)
LMP_TOPICS = ("period", "menses", "menstrual", "lmp", "cycle", "bleeding")
_SCAN_WEEKS = {"early": (7, 13), "later": (16, 24)}


@task_family(counts=COUNTS)
def pregnancy_dating(draw: Draw) -> Case:
    """Set the due date: menses, unless a scan overrules them or an embryo transfer is known."""
    name, level = scenario(draw, SCENARIOS, HELD_OUT), difficulty_of(draw)
    today = today_of(draw)
    kind = "later" if name.startswith("later") else "early"
    lmp_days = whole(draw, _SCAN_WEEKS[kind][0] * 7, _SCAN_WEEKS[kind][1] * 7 + 6)
    scan = today - timedelta(days=whole(draw, 0, 21))
    lmp = scan - timedelta(days=lmp_days)
    limit = redating_limit_days(lmp_days)
    moved = name.endswith("moved") or name in ("irregular", "two_scans")
    shift = whole(draw, limit + 1, limit + 6) if moved else whole(draw, max(1, limit - 4), limit)
    by_scan = max(6 * 7, lmp_days - shift) if draw.rng.random() < 0.7 else lmp_days + shift
    moved = abs(lmp_days - by_scan) > limit or name == "irregular"
    due, how = due_date_from_lmp(lmp), "by_menses"
    if moved:
        due, how = due_date_from_scan(scan, by_scan), "by_ultrasound"
    scans = f"{scan}: one living fetus, {weeks_and_days(by_scan)} by size."
    if name == "two_scans":
        today = scan + timedelta(days=whole(draw, 50, 70))
        second, grown = (
            today - timedelta(days=3),
            by_scan + (today - timedelta(days=3) - scan).days + whole(draw, 8, 13),
        )
        scans += f" {second}: one living fetus, {weeks_and_days(grown)} by size."
    regular = "They come every 28 days." if name != "irregular" else "They come when they like, 4 to 8 weeks apart."
    words = f"My last period began on {lmp}. {regular}"
    if name == "transfer":
        age = pick(draw, (3, 5))
        transfer = today - timedelta(days=whole(draw, 50, 110))
        due, how = due_date_from_transfer(transfer, age), "by_transfer"
        embryo = PREGNANCY_DAYS - (due - transfer).days
        scan = transfer + timedelta(days=40)
        scans = f"{scan}: one living fetus, {weeks_and_days(embryo + 40 + whole(draw, 1, 4))} by size."
        words = f"I had a day-{age} embryo put back on {transfer}."
    known = level == "easy"
    dates = words.replace("My", "Her").replace("I had", "She had") if known else "Asked at booking: see the patient."
    chart = woman(
        draw,
        complaint=pick(draw, ("When is my baby due?", "How far am I?", "They gave me two different dates.")),
        gestation_days=PREGNANCY_DAYS - (due - today).days,
        weeks_text="pregnant",
        today=today,
        findings=[
            told("last_period", words, (*LMP_TOPICS, "embryo", "transfer", "ivf", "conceive", "pregnant", "date"))
        ],
        reticent=LMP_TOPICS if level == "hard" and draw.rng.random() < 0.5 else (),
        record={"dates": dates, "scans": scans, "visits": "First visit."},
    )
    question = Call("ask_patient", patient_id="P1", question="When did your last period begin?")
    asked = (read("dates"),) if known else (question,) * (2 if chart.persona.reticent_topics else 1)
    keys = ("P1.record.dates", "P1.findings.last_period") if known else ("P1.findings.last_period",)
    return make_case(
        draw,
        [chart],
        answer={
            "due_date": due.isoformat(),
            "gestational_age": weeks_and_days(PREGNANCY_DAYS - (due - today).days),
            "diagnosis": how,
        },
        evidence=(Evidence(any_of=keys, label="menses or transfer"), record_read("scans")),
        solution=(Call("view_patients"), *asked, read("scans")),
        topic=name,
    )
