"""Draws mothers and gynaecological patients: a coherent record of which every section can be read."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from healthgym.knowledge_base.normal import body_size
from healthgym.tasks.families import Draw
from healthgym.world import Allergy, Chart, Event, Finding, LabResult, Medication, Persona, VitalSigns

from ..scores.pregnancy_dating import PREGNANCY_DAYS, weeks_and_days
from .cases import pick, whole

_FIRST_DAY = date(2026, 1, 5)
_NORMAL_LABS = {
    "hemoglobin": (12.0, 0.6, "g/dL"),
    "platelets": (235, 30, "10^9/L"),
    "wbc": (9.6, 1.2, "10^9/L"),
    "ast": (22, 4, "U/L"),
    "alt": (19, 4, "U/L"),
    "creatinine": (0.6, 0.06, "mg/dL"),
}
"""Means and standard deviations in pregnancy: Abbassi-Ghanavati et al., Obstet Gynecol 2009;114:1326-1331, rounded."""


def today_of(draw: Draw) -> date:
    """Return the day of the episode."""
    return _FIRST_DAY + timedelta(days=whole(draw, 0, 360))


def woman(
    draw: Draw,
    *,
    complaint: str,
    gestation_days: int | None = None,
    dated: str = "by a first-trimester scan",
    age_years: int | None = None,
    para: int | None = None,
    births: str = "",
    illnesses: Sequence[str] = (),
    medications: Sequence[Medication] = (),
    allergies: Sequence[Allergy] = (),
    systolic_bp_mmhg: int | None = None,
    diastolic_bp_mmhg: int | None = None,
    heart_rate_per_min: int | None = None,
    temperature_c: float = 36.8,
    spo2_percent: int = 98,
    findings: Sequence[Finding] = (),
    labs: Mapping[str, float] | None = None,
    tests: Mapping[str, str] | None = None,
    record: Mapping[str, str] | None = None,
    events: Sequence[Event] = (),
    reticent: Sequence[str] = (),
    weeks_text: str | None = None,
    today: date | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Chart:
    """Return P1's chart; whatever is not given is drawn within normal limits.

    Args:
        draw: Source of chance.
        complaint: Her opening words.
        gestation_days: Days of gestation today; None when not pregnant.
        dated: How the due date was set.
        age_years: Age.
        para: Earlier births.
        births: Text of earlier births; written from `para` when empty.
        illnesses: Ids of known illnesses.
        medications: What she takes.
        allergies: What she is allergic to.
        systolic_bp_mmhg: Systolic pressure.
        diastolic_bp_mmhg: Diastolic pressure.
        heart_rate_per_min: Pulse.
        temperature_c: Temperature.
        spo2_percent: Oxygen saturation.
        findings: What asking or examining reveals.
        labs: Abnormal analytes.
        tests: Results of tests by id.
        record: Sections of the record that differ from the usual.
        events: What happens by the clock.
        reticent: Topics told only when asked again.
        weeks_text: How the pregnancy is announced; from `gestation_days` when None.
        today: Day of the episode.
        extra: Further parts of the chart's extra.
    """
    rng = draw.rng
    day = today or today_of(draw)
    age = age_years if age_years is not None else whole(draw, 20, 41)
    para = para if para is not None else whole(draw, 0, 2)
    weight, height = body_size(rng, "female", age)
    weeks = weeks_and_days(gestation_days) if gestation_days is not None else ""
    announced = weeks_text if weeks_text is not None else weeks
    written = _record(
        draw, day, gestation_days, dated, age, para, births, weight, height, illnesses, medications, allergies
    )
    pulse = heart_rate_per_min if heart_rate_per_min is not None else whole(draw, 72, 92)
    systolic = systolic_bp_mmhg if systolic_bp_mmhg is not None else whole(draw, 104, 128)
    diastolic = diastolic_bp_mmhg if diastolic_bp_mmhg is not None else whole(draw, 62, 78)
    vital_signs = VitalSigns(
        temperature_c=temperature_c,
        heart_rate_per_min=pulse,
        respiratory_rate_per_min=whole(draw, 14, 18),
        systolic_bp_mmhg=systolic,
        diastolic_bp_mmhg=diastolic,
        spo2_percent=spo2_percent,
        gcs=15,
        pain_0_10=whole(draw, 0, 3),
    )
    return Chart(
        patient_id="P1",
        age_years=float(age),
        sex="female",
        weight_kg=weight,
        height_cm=height,
        pregnancy_weeks=None if gestation_days is None else round(gestation_days / 7, 1),
        chief_complaint=complaint,
        comorbidities=tuple(illnesses),
        vital_signs=((0.0, vital_signs),),
        findings=tuple(findings),
        lab_results=_labs(draw, labs or {}),
        medications=tuple(medications),
        allergies=tuple(allergies),
        persona=Persona(style=pick(draw, ("plain", "plain", "terse", "anxious")), reticent_topics=tuple(reticent)),
        events=tuple(events),
        extra={
            "today": day.isoformat(),
            "weeks_text": announced,
            "record": {**written, **(record or {})},
            "tests": dict(tests or {}),
            **(extra or {}),
        },
    )


def child(kind: str, **extra: Any) -> Chart:
    """Return the chart of the fetus or newborn F1 of P1; it tells nothing and has what `extra` holds."""
    return Chart(
        patient_id="F1",
        age_years=0.0,
        sex="female",
        weight_kg=3.3,
        persona=Persona(informant="none"),
        extra={"is": kind, "mother": "P1", **extra},
    )


def told(finding_id: str, lay: str, topics: Sequence[str], *, present: bool = True, text: str = "") -> Finding:
    """Return a finding that asking reveals."""
    return Finding(id=finding_id, reveal="ask", present=present, text=text or lay, lay=lay, topics=tuple(topics))


def found(finding_id: str, text: str, region: str, *, present: bool = True) -> Finding:
    """Return a finding that examining a region reveals."""
    return Finding(id=finding_id, reveal="examine", present=present, text=text, system=region)


def _labs(draw: Draw, given: Mapping[str, float]) -> dict[str, LabResult]:
    results = {}
    for name, (mean, sd, unit) in _NORMAL_LABS.items():
        noise = float(draw.rng.normal(0, 1))
        value = given.get(name, mean + sd * max(-1.5, min(1.5, noise)))
        digits = 0 if unit in ("10^9/L", "U/L") and name != "wbc" else 1
        digits = 2 if name == "creatinine" else digits
        results[name] = LabResult(analyte=name, value=round(value, digits), unit=unit)
    return results


def _record(
    draw: Draw,
    day: date,
    gestation_days: int | None,
    dated: str,
    age: int,
    para: int,
    births: str,
    weight: float,
    height: float,
    illnesses: Sequence[str],
    medications: Sequence[Medication],
    allergies: Sequence[Allergy],
) -> dict[str, str]:
    """Return all sections of the record; the words of one section never contradict another."""
    known = ", ".join(name.replace("_", " ") for name in illnesses) or "no long-standing illness"
    taken = ", ".join(f"{m.drug.replace('_', ' ')} for {m.indication.replace('_', ' ')}" for m in medications)
    allergic = ", ".join(f"{a.substance.replace('_', ' ')} ({a.reaction})" for a in allergies) or "none known"
    sections = {
        "booking": f"{age} y, G{para + (gestation_days is not None)} P{para}, {height:.0f} cm, {weight:.0f} kg, "
        f"BMI {weight / (height / 100) ** 2:.1f}. Does not smoke.",
        "dates": "Not pregnant.",
        "scans": "No scans.",
        "births": births or _births(draw, day, para),
        "illnesses": f"Illnesses: {known}. No operations.",
        "medicines": f"Medicines: {taken or 'none'}. Allergies: {allergic}.",
        "blood_results": "A RhD positive, antibody screen negative. Haemoglobin 12.2 g/dL. Infection screen clear.",
        "visits": "No earlier visits.",
        "labour_notes": "Not in labour.",
    }
    if gestation_days is not None:
        due = day + timedelta(days=PREGNANCY_DAYS - gestation_days)
        sections["dates"] = f"Due {due}, {dated}; {weeks_and_days(gestation_days)} on {day}."
        sections["scans"] = _scans(gestation_days)
        sections["visits"] = _visits(draw, gestation_days)
    return sections


def _births(draw: Draw, day: date, para: int) -> str:
    if para == 0:
        return "No earlier births."
    years = [day.year - 2 - 3 * place for place in range(para)][::-1]
    return " ".join(f"{year}: vaginal birth at {whole(draw, 38, 41)} weeks, no complications." for year in years)


def _scans(gestation_days: int) -> str:
    lines = ["11w3d: one living fetus, size as dated."] if gestation_days >= 80 else ["No scan yet."]
    if gestation_days >= 142:
        lines.append("20w2d: normal anatomy, placenta posterior and clear of the os, cervix 40 mm.")
    if gestation_days >= 36 * 7:
        lines.append("Last scan: head first, growth normal, fluid normal.")
    return " ".join(lines)


def _visits(draw: Draw, gestation_days: int) -> str:
    weeks = [week for week in (9, 16, 24, 30, 35) if week * 7 + 5 < gestation_days]
    rows = [f"{week} weeks {whole(draw, 102, 124)}/{whole(draw, 60, 76)} mmHg, urine clear" for week in weeks]
    return "; ".join(rows) + "." if rows else "First visit."
