"""Families about the kidneys: stage acute injury by KDIGO, and fit a dose to today's clearance."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from healthgym.errors import TaskError
from healthgym.knowledge_base.pharmacology import load_drugs, renal_dose
from healthgym.tasks import AnswerField, Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Chart

from ..scores.kdigo_aki import creatinine_stage, urine_stage
from .admission import Admission, admit, conditions_for, pick, write_background, write_order, write_visit
from .assembly import difficulty_of, make_case, seen, wording
from .course import draw_labs, draw_urine, draw_vital_signs, morning_hours, write_lab
from .notes import write_admission_note, write_nursing_notes, write_progress_notes
from .orders import clearance, uses_egfr
from .record import IN_ERROR, Entry, admitted, need, now, select, values
from .timeline import hours_between

AKI_STAYS = (
    "pneumonia", "sepsis", "pyelonephritis", "cellulitis", "upper_gi_bleed", "acute_pancreatitis", "diabetic_ketoacidosis",
    "cholecystitis", "hip_fracture",
)  # fmt: skip
NEPHROTOXIC = ("ibuprofen", "naproxen", "diclofenac", "ketorolac")
"""NSAIDs that may stand among the orders. Stopping nephrotoxic drugs in every stage: KDIGO AKI guideline 2012, figure 4."""
RENAL_DRUGS = (
    "gabapentin", "pregabalin", "levetiracetam", "cefepime", "meropenem", "ciprofloxacin", "levofloxacin", "famotidine",
    "cefalexin", "trimethoprim_sulfamethoxazole", "allopurinol", "baclofen", "amoxicillin_clavulanate",
)  # fmt: skip
OOD_RENAL_DRUGS = frozenset({"levofloxacin", "pregabalin", "amoxicillin_clavulanate"})
RATIOS = {0: (1.0, 1.2), 1: (1.6, 1.85), 2: (2.15, 2.75), 3: (3.2, 4.1)}
STAGE_SHARES = (0.35, 0.3, 0.2, 0.15)
"""How often each stage is drawn; urine may raise it afterwards. A design choice that spreads the answers."""
SAFE_MARGIN_ML_MIN = 2.0
"""No limit lies nearer to the true clearance, so that rounding decides nothing."""
AKI_SOURCE = "KDIGO Clinical Practice Guideline for Acute Kidney Injury, 2012"


def baseline(chart: Chart) -> Entry:
    """Return the creatinine before this illness: the last valid one 7 to 365 days before admission."""
    came = admitted(chart)
    before = [
        e for e in values(chart, "creatinine", until=came) if 7 * 24 <= hours_between(e["time"], came) <= 365 * 24
    ]
    return need(before, "creatinine of 7 to 365 days before admission")[-1]


def aki_stage(chart: Chart) -> int:
    """Return the KDIGO stage of the stay so far: the worse of creatinine and urine output."""
    found = need(values(chart, "creatinine", since=admitted(chart), until=now(chart)), "creatinine of this stay")
    peak = max(e["value"] for e in found)
    rise = max(
        (
            later["value"] - earlier["value"]
            for i, earlier in enumerate(found)
            for later in found[i:]
            if hours_between(earlier["time"], later["time"]) <= 48
        ),
        default=0.0,
    )
    return max(creatinine_stage(baseline(chart)["value"], peak, rise), _stage_of_urine(chart))


def _stage_of_urine(chart: Chart) -> int:
    blocks = select(chart, code="urine_output")
    rates = [(b["value"] / chart.weight_kg / b["detail"]["hours"], b["detail"]["hours"]) for b in blocks]
    return urine_stage(_run(rates, 0.5), _run(rates, 0.3), _run(rates, 0.01))


def _run(rates: Sequence[tuple[float, float]], below: float) -> float:
    """Return the longest run of hours with rates below a limit."""
    longest = current = 0.0
    for rate, hours in rates:
        current = current + hours if rate < below else 0.0
        longest = max(longest, current)
    return longest


def _renal_stay(draw: Draw, days: int, condition: str = "") -> Admission:
    """Return a stay of a patient without chronic kidney disease; creatinine is still to be written."""
    condition = condition or str(pick(draw.rng, conditions_for(draw, AKI_STAYS)))
    chronic = {"chronic_kidney_disease", "heart_failure", "cirrhosis", "atrial_fibrillation"}
    stay = admit(
        draw, condition, hours=24.0 * days + float(draw.rng.integers(2, 12)),
        fits=lambda chart: not chronic & set(chart.comorbidities) and not chart.allergies,
    )  # fmt: skip
    kept = tuple(item for item in stay.chart.medications if "nsaid" not in load_drugs()[item.drug].classes)
    stay.chart = replace(stay.chart, medications=kept)
    write_background(stay)
    write_admission_note(stay)
    write_progress_notes(stay)
    write_nursing_notes(stay)
    draw_vital_signs(stay.book, stay.chart, draw.rng, stay.hours)
    return stay


@task_family(counts={"train": 38, "val": 4, "test": 8, "test_ood": 5})
def stage_kidney_injury(draw: Draw) -> Case:
    """Stage acute kidney injury from baseline, course and urine; stop what harms the kidneys."""
    difficulty, rng = difficulty_of(draw), draw.rng
    stay = _renal_stay(draw, {"easy": 3, "medium": 5, "hard": 6}[difficulty])
    wanted = int(rng.choice(4, p=STAGE_SHARES))
    usual = float(rng.uniform(0.7, 1.15))
    ratio = float(rng.uniform(*RATIOS[wanted]))
    by_rise = wanted == 1 and difficulty != "easy" and rng.random() < 0.4
    if by_rise:
        ratio = 1.0 + 0.42 / usual
    rounds = morning_hours(stay.admission_hour, stay.hours)
    peak_at = rounds[min(2, len(rounds) - 1)]
    end = usual * (ratio if difficulty == "easy" else 1 + (ratio - 1) * float(rng.uniform(0.4, 0.8)))
    plan = ((0.0, usual * 1.02), (peak_at, usual * ratio), (stay.hours + 1, end))
    draw_labs(stay.book, stay.chart, rng, rounds, plans={"creatinine": plan})
    for days in sorted({int(rng.integers(30, 200)), int(rng.integers(201, 360))}):
        write_visit(stay, days, "outpatient", "yearly check, blood tests taken")
        write_lab(
            stay.book, "creatinine", -24.0 * days, usual if days < 201 else usual * float(rng.uniform(0.85, 1.15))
        )
    if difficulty == "hard":
        write_visit(stay, 2, "emergency", "seen and sent home, already unwell")
        write_lab(stay.book, "creatinine", -48.0, usual * float(rng.uniform(1.25, 1.4)))
        if rng.random() < 0.5:
            write_lab(
                stay.book, "creatinine", peak_at + 3, usual * 4.5, status=IN_ERROR, remark="drawn from another patient"
            )
    blocks = int(stay.hours // 6)
    rates = [float(rng.uniform(0.7, 1.6)) for _ in range(blocks)]
    low = int(rng.integers(0, 4)) if difficulty == "hard" else 0
    for block in range(4, 4 + {0: 0, 1: 1, 2: 3, 3: 5}[low]):
        rates[block] = float(rng.uniform(0.33, 0.43)) if low < 3 else float(rng.uniform(0.12, 0.22))
    draw_urine(stay.book, stay.chart, rng, rates)
    for item in stay.chart.medications:
        write_order(stay, item.drug, item.dose_mg, item.times_per_day, hours=2.0, route=item.route)
    harmful = str(pick(rng, NEPHROTOXIC)) if difficulty != "easy" else ""
    if harmful:
        dose = load_drugs()[harmful].usual_dose
        if dose is None:
            raise TaskError(f"{harmful} has no usual dose and cannot be ordered")
        write_order(stay, harmful, dose.dose_mg, dose.times_per_day, hours=4.0, route=load_drugs()[harmful].routes[0])
    chart = stay.finish()
    pid, stage, base = chart.patient_id, aki_stage(chart), baseline(chart)
    acts = bool(harmful) and stage > 0
    evidence = [
        seen(chart, [base], "the creatinine before this illness"),
        seen(chart, values(chart, "creatinine", since=admitted(chart)), "the course of creatinine", at_least=3),
        seen(chart, select(chart, code="urine_output"), "the urine output", at_least=blocks // 2),
    ]
    look = [
        Call("get_labs", patient_id=pid, analyte="creatinine"),
        Call("get_urine_output", patient_id=pid),
    ]
    if harmful:
        evidence.append(Evidence(any_of=(f"{pid}.orders",), label="what is ordered now"))
        look.append(Call("active_orders", patient_id=pid))
    return make_case(
        draw,
        chart,
        prompt=wording(
            draw, patient=pid, act="Stop an NSAID from stage 1 on; leave all else as it is." if harmful else ""
        ),
        answer={
            "score": AnswerField(gold=stage, weight=2.0),
            "value": AnswerField(gold=base["value"], compare="range", tolerance=0.0, unit="mg/dL"),
        },
        evidence=evidence,
        look=look,
        act=[Call("stop_order", patient_id=pid, drug=harmful)] if acts else (),
        end_state={f"{pid}.daily_mg.{harmful}": 0 if acts else None} if harmful else {},
        source=AKI_SOURCE,
        tags={"targets": harmful if acts else ""},
    )


@task_family(counts={"train": 36, "val": 4, "test": 7, "test_ood": 4})
def fit_dose_to_kidneys(draw: Draw) -> Case:
    """Creatinine has moved since a drug was ordered: work out today's clearance and fit the daily dose."""
    difficulty, rng = difficulty_of(draw), draw.rng
    names = [d for d in RENAL_DRUGS if (d in OOD_RENAL_DRUGS) is (draw.split == "test_ood") and _is_usable(d)]
    drug = str(pick(rng, names))
    monograph = load_drugs()[drug]
    dose = monograph.usual_dose
    if dose is None:
        raise TaskError(f"{drug} has no usual dose and cannot be ordered")
    for _ in range(60):
        stay = _renal_stay(draw, {"easy": 3, "medium": 4, "hard": 6}[difficulty])
        if all(item.drug != drug for item in stay.chart.medications):
            break
    usual = float(rng.uniform(0.7, 1.0))
    target = usual * float(rng.uniform(0.95, 1.1) if rng.random() < 0.25 else rng.uniform(1.6, 4.2))
    rounds = morning_hours(stay.admission_hour, stay.hours)
    target = _clear_of_limits(stay.chart, drug, target)
    plan = ((0.0, usual), (rounds[-1] - 1, target), (stay.hours + 1, target))
    draw_labs(stay.book, stay.chart, rng, rounds[:-1], plans={"creatinine": plan})
    draw_labs(stay.book, stay.chart, rng, rounds[-1:], analytes=("sodium", "potassium"))
    write_lab(stay.book, "creatinine", rounds[-1], target)
    if difficulty == "hard":
        write_lab(
            stay.book, "creatinine", rounds[-1] + 1, usual * 0.9, status=IN_ERROR, remark="label of another patient"
        )
    write_visit(stay, 60, "outpatient", "check of blood tests")
    write_lab(stay.book, "creatinine", -24.0 * 60, usual)
    for item in stay.chart.medications:
        write_order(stay, item.drug, item.dose_mg, item.times_per_day, hours=2.0, route=item.route)
    write_order(stay, drug, dose.dose_mg, dose.times_per_day, hours=3.0, route=monograph.routes[0])
    chart = stay.finish()
    pid, cleared = chart.patient_id, clearance(chart)
    band = renal_dose(drug, cleared)
    daily = dose.dose_mg * dose.times_per_day
    limit = daily if band is None or (band.max_daily_mg is None and not band.avoid) else band.max_daily_mg or 0.0
    path = f"{pid}.daily_mg.{drug}"
    act: list[Call] = []
    wanted: Any = None
    if limit >= daily:
        limit = daily
    elif limit == 0:
        wanted, act = 0, [Call("stop_order", patient_id=pid, drug=drug)]
    else:
        wanted = {"ge": limit / 2, "le": limit}
        act = [Call("order_medication", patient_id=pid, drug=drug, dose_mg=limit, times_per_day=1.0)]
    last = values(chart, "creatinine")[-1:]
    return make_case(
        draw,
        chart,
        prompt=wording(draw, patient=pid, drug=monograph.name.lower()),
        answer={
            "value": AnswerField(gold=round(cleared, 1), compare="range", tolerance=1.0, unit="mL/min"),
            "daily_dose_mg": AnswerField(gold=float(limit), compare="range", tolerance=0.5, weight=2.0),
        },
        evidence=(
            seen(chart, last, "today's creatinine"),
            Evidence(any_of=(f"{pid}.weight_kg",), label="body weight"),
            Evidence(any_of=(f"kb.renal.{drug}", f"kb.drug.{drug}"), label="the drug's renal limits"),
            Evidence(any_of=(f"{pid}.orders",), label="what is ordered now"),
        ),
        look=(
            Call("patient_summary", patient_id=pid),
            Call("get_labs", patient_id=pid, analyte="creatinine"),
            Call("active_orders", patient_id=pid),
            Call("renal_limits", drug=drug),
            Call(
                "cockcroft_gault", age_years=chart.age_years, weight_kg=chart.weight_kg, creatinine_mg_dl=last[0]["value"],
                sex=chart.sex,
            ),
        ),
        act=act,
        end_state={path: wanted},
        source=f"limits: {monograph.source}; clearance: Cockcroft and Gault, Nephron 1976;16:31",
        condition=drug,
        tags={"targets": drug if act else ""},
    )  # fmt: skip


def _is_usable(drug: str) -> bool:
    """Say whether the drug has a usual dose and a limit in mg, or an avoidance, by clearance."""
    monograph = load_drugs().get(drug)
    if monograph is None or monograph.usual_dose is None or uses_egfr(drug):
        return False
    daily = monograph.usual_dose.dose_mg * monograph.usual_dose.times_per_day
    return any(band.avoid or (band.max_daily_mg is not None and band.max_daily_mg < daily) for band in monograph.renal)


def _clear_of_limits(chart: Chart, drug: str, creatinine_mg_dl: float) -> float:
    """Return a creatinine near the given one whose clearance lies well clear of the drug's limits."""
    value = round(creatinine_mg_dl, 2)
    while any(abs(clearance(chart, value) - band.below) < SAFE_MARGIN_ML_MIN for band in load_drugs()[drug].renal):
        value = round(value + 0.05, 2)
    return value
