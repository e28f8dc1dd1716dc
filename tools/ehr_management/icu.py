"""An intensive care stay: deranged vital signs, blood gases, infusions and laboratory values, and the worst of a window."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from healthgym.tasks.families import Draw
from healthgym.world import Chart

from ..scores.sofa import mean_arterial_pressure_mmhg
from .admission import Admission, admit, conditions_for, pick, write_background
from .course import draw_labs, draw_urine, write_gas, write_vital_signs
from .notes import write_admission_note, write_progress_notes
from .record import Entry, need, select, values

ICU_STAYS = (
    "pneumonia", "sepsis", "upper_gi_bleed", "acute_pancreatitis", "diabetic_ketoacidosis", "pulmonary_embolism",
    "cholecystitis", "copd_exacerbation",
)  # fmt: skip
WINDOW_STARTS_AFTER = 1 / 60
"""Hours: a window opens a minute after the block of urine that ends there."""


@dataclass(frozen=True)
class Window:
    """First and last stamp of 24 hours."""

    since: str
    until: str


def _has_no_organ_failure(chart: Chart) -> bool:
    """Say whether chronic health points are left to the family that plants them."""
    return not {"chronic_kidney_disease", "cirrhosis", "heart_failure"} & set(chart.comorbidities)


def icu_stay(draw: Draw, days: int, note: str = "", problem: str = "") -> Admission:
    """Return a stay in intensive care of so many days; `note` ends the admission note, `problem` joins the problem list."""
    rng = draw.rng
    condition = str(pick(rng, conditions_for(draw, ICU_STAYS)))
    stay = admit(draw, condition, hours=24.0 * days + 2, fits=_has_no_organ_failure)
    write_background(stay)
    if problem:
        stay.book.add("Condition", "condition", -24.0 * 400, problem)
    write_admission_note(stay, also=f"To intensive care. {note}".strip())
    write_progress_notes(stay)
    ventilated = rng.random() < 0.55
    _vital_signs(stay, rng, ventilated)
    _gases(stay, rng, ventilated)
    hours = [0.5, *np.arange(6.0, stay.hours, 12.0).tolist()]
    draw_labs(stay.book, stay.chart, rng, hours, analytes=(), plans={n: _plan(rng, n, stay.hours) for n in _RANGES})
    rate = float(rng.choice([0.12, 0.25, 0.6, 1.2]))
    draw_urine(stay.book, stay.chart, rng, [rate * float(rng.uniform(0.85, 1.15)) for _ in range(int(stay.hours // 6))])
    return stay


_RANGES: dict[str, tuple[float, float]] = {
    "sodium": (122, 156), "potassium": (2.7, 6.2), "bicarbonate": (11, 28), "urea_nitrogen": (14, 95), "creatinine": (0.7, 4.8),
    "hemoglobin": (7.2, 14), "wbc": (2.2, 26), "platelets": (32, 280), "bilirubin_total": (0.5, 7.5), "glucose": (80, 260),
    "hematocrit": (22, 44), "lactate": (0.8, 8),
}  # fmt: skip
"""Where the first value of a critically ill patient may lie; a design choice that spreads the scores."""


def _plan(rng: np.random.Generator, name: str, hours: float) -> list[tuple[float, float]]:
    low, high = _RANGES[name]
    first = float(rng.uniform(low, high))
    middle = (low + high) / 2
    return [(0.0, first), (hours, first + 0.4 * (middle - first))]


def _vital_signs(stay: Admission, rng: np.random.Generator, ventilated: bool) -> None:
    heart, pressure = float(rng.uniform(72, 148)), float(rng.uniform(78, 138))
    temperature, breaths = float(rng.uniform(35.2, 39.7)), float(rng.uniform(14, 36))
    gcs = int(pick(rng, [15, 15, 14, 13, 11, 9, 7, 5]))
    for hour in np.arange(0.5, stay.hours, 3.0):
        systolic = round(pressure + 7 * float(rng.standard_normal()))
        detail = {
            "temperature_c": round(temperature + 0.3 * float(rng.standard_normal()), 1),
            "heart_rate_per_min": round(heart + 7 * float(rng.standard_normal())),
            "respiratory_rate_per_min": round(breaths + 2 * float(rng.standard_normal())),
            "systolic_bp_mmhg": systolic,
            "diastolic_bp_mmhg": round(systolic * float(rng.uniform(0.5, 0.62))),
            "spo2_percent": min(100, round(95 + 2 * float(rng.standard_normal()))),
            "gcs": min(15, gcs + int(rng.integers(0, 2))),
        }
        write_vital_signs(stay.book, float(hour), detail)


def _gases(stay: Admission, rng: np.random.Generator, ventilated: bool) -> None:
    ratio, acid = float(rng.uniform(85, 420)), float(rng.uniform(7.16, 7.46))
    for hour in np.arange(1.0, stay.hours, 8.0):
        fio2 = float(pick(rng, [0.4, 0.5, 0.6, 0.8])) if ventilated else float(pick(rng, [0.21, 0.28, 0.35]))
        pao2 = min(max(ratio * fio2 * float(rng.uniform(0.88, 1.12)), 48), 300)
        write_gas(
            stay.book, float(hour), pao2_mmhg=pao2, paco2_mmhg=float(rng.uniform(30, 56)),
            ph=acid + 0.03 * float(rng.standard_normal()), fio2=fio2, ventilated=ventilated,
        )  # fmt: skip


def write_infusion(stay: Admission, rate_ug_kg_min: float, begin: float, end: float) -> None:
    """Write the highest rate of a noradrenaline infusion, between two hours of the stay."""
    text = f"noradrenaline infusion, highest rate {rate_ug_kg_min:.2f} ug/kg/min, until {stay.stamp(end)}"
    detail = {"rate": rate_ug_kg_min, "until": stay.stamp(end)}
    stay.book.add("Procedure", "infusion", begin, text, detail=detail)


def day_window(stay: Admission, day: int) -> Window:
    """Return the 24 hours of a day of the stay, 0 for the first."""
    return Window(stay.stamp(24.0 * day + WINDOW_STARTS_AFTER), stay.stamp(24.0 * day + 24))


def vital_sets(chart: Chart, over: Window) -> Sequence[Entry]:
    """Return the vital signs of a window."""
    return need(values(chart, "vital_signs", over.since, over.until), "vital signs of the window")


def gases(chart: Chart, over: Window) -> Sequence[Entry]:
    """Return the blood gases of a window."""
    return need(values(chart, "blood_gas", over.since, over.until), "blood gas of the window")


def pressures(chart: Chart, over: Window) -> list[float]:
    """Return the mean arterial pressures of a window in mmHg, rounded."""
    details = (entry["detail"] for entry in vital_sets(chart, over))
    return [round(mean_arterial_pressure_mmhg(d["systolic_bp_mmhg"], d["diastolic_bp_mmhg"])) for d in details]


def worst_gas(chart: Chart, over: Window) -> Entry:
    """Return the gas with the lowest PaO2/FiO2."""
    return min(gases(chart, over), key=lambda entry: entry["detail"]["pao2_mmhg"] / entry["detail"]["fio2"])


def worst(found: Sequence[float], points: Callable[[float], int]) -> float:
    """Return the value that scores most; the first of equals."""
    return max(found, key=points)


def numbers(chart: Chart, analyte: str, over: Window) -> list[float]:
    """Return an analyte's values within a window."""
    return [e["value"] for e in need(values(chart, analyte, over.since, over.until), f"{analyte} of the window")]


def urine_ml(chart: Chart, over: Window) -> float:
    """Return the urine of a window in mL."""
    return float(sum(entry["value"] for entry in values(chart, "urine_output", over.since, over.until)))


def infusion_rate(chart: Chart, over: Window) -> float:
    """Return the highest noradrenaline rate of a window in ug/kg/min."""
    found = select(chart, code="infusion", until=over.until)
    return max((entry["detail"]["rate"] for entry in found if entry["detail"]["until"] >= over.since), default=0.0)
