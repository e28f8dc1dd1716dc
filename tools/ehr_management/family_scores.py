"""Families about severity: SOFA of a day, SAPS II or APACHE II of the first day, Charlson with age."""

from collections.abc import Callable, Mapping
from typing import Any

from healthgym.tasks import AnswerField, Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Chart

from ..scores.apache2 import apache2_parts, oxygenation_points
from ..scores.charlson import age_points, charlson_points
from ..scores.saps2 import saps2_parts
from ..scores.sofa import sofa_parts
from .admission import Admission, pick
from .assembly import difficulty_of, make_case, seen, wording
from .course import draw_labs, draw_vital_signs, morning_hours
from .icu import (
    Window,
    day_window,
    gases,
    icu_stay,
    infusion_rate,
    numbers,
    pressures,
    urine_ml,
    vital_sets,
    worst,
    worst_gas,
    write_infusion,
)
from .illness import stay_with_problems
from .notes import write_admission_note, write_nursing_notes, write_progress_notes
from .record import select, signs, values

SOFA_LABS = ("platelets", "bilirubin_total", "creatinine")
SAPS_LABS = {
    "urea_nitrogen": "urea_nitrogen_mg_dl", "wbc": "wbc_10_9_l", "potassium": "potassium_mmol_l", "sodium": "sodium_mmol_l",
    "bicarbonate": "bicarbonate_mmol_l", "bilirubin_total": "bilirubin_mg_dl",
}  # fmt: skip
APACHE_LABS = {
    "sodium": "sodium_mmol_l", "potassium": "potassium_mmol_l", "creatinine": "creatinine_mg_dl",
    "hematocrit": "hematocrit_percent", "wbc": "wbc_10_9_l",
}  # fmt: skip
CHRONIC = (
    ("Metastatic colon cancer", "metastatic_cancer"),
    ("Acute myeloid leukaemia", "haematological_malignancy"),
    ("AIDS", "aids"),
)
FAILED_ORGANS = (
    "Heart failure, NYHA class IV", "Cirrhosis with portal hypertension and earlier variceal bleeding",
    "Immunosuppression: chemotherapy for lymphoma last month",
)  # fmt: skip
"""Severe organ insufficiency or immunosuppression as Knaus et al., 1985, define them."""


def sofa_inputs(chart: Chart, over: Window) -> dict[str, Any]:
    """Return the worst values of a window, as `sofa` takes them."""
    gas = worst_gas(chart, over)["detail"]
    return {
        "pao2_mmhg": gas["pao2_mmhg"],
        "fio2": gas["fio2"],
        "ventilated": gas["ventilated"],
        "platelets_10_9_l": min(numbers(chart, "platelets", over)),
        "bilirubin_mg_dl": max(numbers(chart, "bilirubin_total", over)),
        "map_mmhg": min(pressures(chart, over)),
        "gcs": int(min(value for _, value in signs(chart, "gcs", over.since, over.until))),
        "creatinine_mg_dl": max(numbers(chart, "creatinine", over)),
        "urine_ml_day": urine_ml(chart, over),
        "noradrenaline_ug_kg_min": infusion_rate(chart, over),
    }


@task_family(counts={"train": 30, "val": 3, "test": 6, "test_ood": 4})
def sofa_of_day(draw: Draw) -> Case:
    """Score SOFA over 24 hours of an intensive care stay."""
    difficulty, rng = difficulty_of(draw), draw.rng
    days = {"easy": 1, "medium": 3, "hard": 4}[difficulty]
    stay = icu_stay(draw, days)
    day = 0 if difficulty == "easy" else int(rng.integers(1, days))
    if difficulty != "easy" and rng.random() < 0.6:
        within = difficulty == "medium" or rng.random() < 0.6
        begin = 24.0 * day + 5 if within else 24.0 * ((day + 1) % days) + 5
        write_infusion(stay, float(pick(rng, [0.04, 0.08, 0.15, 0.3])), begin, begin + 8)
    over = day_window(stay, day)
    chart = stay.finish(unit="intensive_care")
    pid, inputs = chart.patient_id, sofa_inputs(chart, over)
    ratio = round(inputs["pao2_mmhg"] / inputs["fio2"])
    infusions = select(chart, code="infusion")
    look, evidence = _day_of_icu(chart, over, ("blood_gas", *SOFA_LABS))
    if infusions:
        look.append(Call("search_records", patient_id=pid, resource="Procedure"))
        evidence.append(seen(chart, infusions, "infusions"))
    return make_case(
        draw,
        chart,
        prompt=wording(draw, patient=pid, since=over.since, until=over.until),
        answer={
            "score": AnswerField(gold=sum(sofa_parts(**inputs).values()), weight=2.0),
            "value": AnswerField(gold=float(ratio), compare="range", tolerance=2.0, unit="mmHg"),
        },
        evidence=evidence,
        look=[*look, Call("sofa", **inputs)],
        source="Vincent et al., Intensive Care Med 1996;22:707",
    )


def _day_of_icu(chart: Chart, over: Window, analytes: tuple[str, ...]) -> tuple[list[Call], list[Evidence]]:
    """Return the calls that read a day, and the demand that they were made."""
    span = {"patient_id": chart.patient_id, "since": over.since, "until": over.until}
    sets, blood = vital_sets(chart, over), gases(chart, over)
    look = [Call("get_vital_signs", **span), Call("get_urine_output", **span)]
    look += [Call("get_labs", analyte=name, **span) for name in analytes]
    evidence = [
        seen(chart, sets, "all vital signs of the day", at_least=len(sets)),
        seen(chart, blood, "all blood gases of the day", at_least=len(blood)),
        seen(chart, values(chart, "urine_output", over.since, over.until), "the urine of the day"),
    ]
    for name in analytes:
        if name != "blood_gas":
            evidence.append(seen(chart, values(chart, name, over.since, over.until), name.replace("_", " ")))
    return look, evidence


def _extreme(
    score: Callable[..., Mapping[str, int]], base: Mapping[str, Any], name: str, part: str, found: list[float]
) -> float:
    """Return the value of one variable that scores most."""
    return worst(found, lambda value: score(**{**base, name: value})[part])


def saps2_inputs(chart: Chart, over: Window, admission: str, chronic: str) -> dict[str, Any]:
    """Return the worst values of the first day, as `saps2` takes them."""
    span = (over.since, over.until)
    gas = worst_gas(chart, over)["detail"]
    base: dict[str, Any] = {
        "age_years": chart.age_years, "heart_rate_per_min": 90, "systolic_bp_mmhg": 120,
        "temperature_c": max(v for _, v in signs(chart, "temperature_c", *span)),
        "pao2_fio2_mmhg": round(gas["pao2_mmhg"] / gas["fio2"], 1) if gas["ventilated"] else None,
        "urine_ml_day": urine_ml(chart, over), "urea_nitrogen_mg_dl": 15, "wbc_10_9_l": 8, "potassium_mmol_l": 4,
        "sodium_mmol_l": 140, "bicarbonate_mmol_l": 24, "bilirubin_mg_dl": 1,
        "gcs": int(min(v for _, v in signs(chart, "gcs", *span))), "admission": admission, "chronic_disease": chronic,
    }  # fmt: skip
    parts = {"urea_nitrogen": "urea", "bilirubin_total": "bilirubin"}
    for name, argument in SAPS_LABS.items():
        base[argument] = _extreme(saps2_parts, base, argument, parts.get(name, name), numbers(chart, name, over))
    for sign, part in (("heart_rate_per_min", "heart_rate"), ("systolic_bp_mmhg", "systolic_bp")):
        base[sign] = _extreme(saps2_parts, base, sign, part, [v for _, v in signs(chart, sign, *span)])
    return base


def apache2_inputs(chart: Chart, over: Window, *, kidneys_failed: bool, chronic: bool) -> dict[str, Any]:
    """Return the worst values of the first day, as `apache2` takes them."""
    span = (over.since, over.until)
    details = [entry["detail"] for entry in gases(chart, over)]
    gas = max(details, key=lambda d: oxygenation_points(d["pao2_mmhg"], d["fio2"], d["paco2_mmhg"]))
    base: dict[str, Any] = {
        "age_years": chart.age_years, "temperature_c": 37.0, "map_mmhg": 90, "heart_rate_per_min": 90,
        "respiratory_rate_per_min": 16, "pao2_mmhg": gas["pao2_mmhg"], "fio2": gas["fio2"], "paco2_mmhg": gas["paco2_mmhg"],
        "arterial_ph": 7.4, "sodium_mmol_l": 140, "potassium_mmol_l": 4, "creatinine_mg_dl": 1,
        "acute_kidney_failure": kidneys_failed, "hematocrit_percent": 40, "wbc_10_9_l": 8,
        "gcs": int(min(v for _, v in signs(chart, "gcs", *span))),
        "chronic_health": "nonoperative_or_emergency_postoperative" if chronic else "none",
    }  # fmt: skip
    base["arterial_ph"] = _extreme(apache2_parts, base, "arterial_ph", "ph", [d["ph"] for d in details])
    base["map_mmhg"] = _extreme(apache2_parts, base, "map_mmhg", "map", pressures(chart, over))
    for name, argument in APACHE_LABS.items():
        base[argument] = _extreme(apache2_parts, base, argument, name, numbers(chart, name, over))
    for sign, part in (
        ("temperature_c", "temperature"), ("heart_rate_per_min", "heart_rate"), ("respiratory_rate_per_min", "respiratory_rate"),
    ):  # fmt: skip
        base[sign] = _extreme(apache2_parts, base, sign, part, [v for _, v in signs(chart, sign, *span)])
    return base


@task_family(counts={"train": 30, "val": 3, "test": 6, "test_ood": 4})
def first_day_severity(draw: Draw) -> Case:
    """Score the first day of intensive care with SAPS II or APACHE II, whichever is asked for."""
    difficulty, rng = difficulty_of(draw), draw.rng
    instrument = ("saps2", "apache2")[(draw.index // 3) % 2]
    chronic, kidneys, surgical = "", difficulty != "easy" and bool(rng.random() < 0.5), False
    kind = "none"
    if difficulty != "easy" and rng.random() < 0.6:
        chronic, kind = pick(rng, CHRONIC) if instrument == "saps2" else (str(pick(rng, FAILED_ORGANS)), "none")
    surgical = difficulty == "hard" and instrument == "saps2" and bool(rng.random() < 0.5)
    note = "Straight from an emergency operation." if surgical else "A medical admission, no operation."
    note += " Acute kidney failure." if kidneys else " No acute kidney failure."
    stay = icu_stay(draw, 1 if difficulty == "easy" else 2, note, chronic)
    over = day_window(stay, 0)
    chart = stay.finish(unit="intensive_care")
    pid = chart.patient_id
    if instrument == "saps2":
        inputs = saps2_inputs(chart, over, "unscheduled_surgical" if surgical else "medical", kind)
        score, labs = sum(saps2_parts(**inputs).values()), tuple(SAPS_LABS)
        source = "Le Gall et al., JAMA 1993;270:2957"
    else:
        inputs = apache2_inputs(chart, over, kidneys_failed=kidneys, chronic=bool(chronic))
        score, labs = sum(apache2_parts(**inputs).values()), tuple(APACHE_LABS)
        source = "Knaus et al., Crit Care Med 1985;13:818"
    inputs = {name: value for name, value in inputs.items() if value is not None}
    look, evidence = _day_of_icu(chart, over, ("blood_gas", *labs))
    note_entry = select(chart, code="admission_note")
    look += [
        Call("patient_summary", patient_id=pid),
        Call("problem_list", patient_id=pid),
        Call("read_record", patient_id=pid, record_id=note_entry[0]["id"]),
    ]
    evidence += [
        seen(chart, note_entry, "the admission note"),
        Evidence(any_of=(f"{pid}.problems",), label="the problem list"),
    ]
    return make_case(
        draw,
        chart,
        prompt=wording(draw, patient=pid, instrument={"saps2": "SAPS II", "apache2": "APACHE II"}[instrument]),
        answer={"score": AnswerField(gold=score)},
        evidence=evidence,
        look=[*look, Call(instrument, **inputs)],
        source=source,
    )


@task_family(counts={"train": 28, "val": 3, "test": 6, "test_ood": 3})
def charlson_index(draw: Draw) -> Case:
    """Find the illnesses that count, on the problem list and in earlier encounters, and add the index with age."""
    difficulty, rng = difficulty_of(draw), draw.rng
    count = int(rng.integers(*{"easy": (1, 3), "medium": (2, 5), "hard": (3, 6)}[difficulty]))
    stay, chosen = stay_with_problems(
        draw, 24.0 * int(rng.integers(1, 4)) + 4, count, {"easy": 1, "medium": 3, "hard": 4}[difficulty],
        apart={"easy": 0, "medium": 1, "hard": 1}[difficulty],
    )  # fmt: skip
    _rest(stay)
    chart = stay.finish()
    pid = chart.patient_id
    names = {name for item in chosen for name in item["charlson"]}
    points = charlson_points(names)
    return make_case(
        draw,
        chart,
        prompt=wording(draw, patient=pid),
        answer={
            "score": AnswerField(gold=points + age_points(chart.age_years), weight=2.0),
            "value": AnswerField(gold=float(points), compare="range", tolerance=0.0),
        },
        evidence=(
            Evidence(any_of=(f"{pid}.problems",), label="the problem list"),
            Evidence(any_of=(f"{pid}.age_years",), label="age"),
            seen(chart, select(chart, resource="Encounter"), "earlier encounters"),
        ),
        look=(
            Call("patient_summary", patient_id=pid),
            Call("problem_list", patient_id=pid),
            Call("list_encounters", patient_id=pid),
            Call("charlson", comorbidities=sorted(names), age_years=chart.age_years),
        ),
        source="Charlson et al., J Chronic Dis 1987;40:373 and J Clin Epidemiol 1994;47:1245",
    )


def _rest(stay: Admission) -> None:
    """Write the notes, results and vital signs that surround the question."""
    write_admission_note(stay)
    write_progress_notes(stay)
    write_nursing_notes(stay)
    draw_labs(stay.book, stay.chart, stay.rng, morning_hours(stay.admission_hour, stay.hours))
    draw_vital_signs(stay.book, stay.chart, stay.rng, stay.hours, every=8.0)
