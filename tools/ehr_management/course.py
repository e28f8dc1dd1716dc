"""Serial vital signs, laboratory results, urine and blood gases of a stay: from what was found at arrival towards recovery."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from healthgym.knowledge_base import load
from healthgym.knowledge_base.normal import normal_vital_signs
from healthgym.world import Chart, VitalSigns

from .record import Book

PANEL = (
    "sodium", "potassium", "bicarbonate", "urea_nitrogen", "creatinine", "glucose", "hemoglobin", "wbc", "platelets", "crp",
)  # fmt: skip
"""What is drawn every morning."""
ICU_PANEL = (*PANEL, "bilirubin_total", "hematocrit", "lactate")
LAB_RECOVERY_HOURS, VITAL_RECOVERY_HOURS = 55.0, 30.0
"""Time in which a deviation falls to 37 %: design choices of the simulated course."""
_NOISE = {"sodium": 0.008, "potassium": 0.03, "bicarbonate": 0.03, "hemoglobin": 0.02, "hematocrit": 0.02}
"""Relative standard deviation from sample to sample; 0.05 otherwise."""
Plan = Sequence[tuple[float, float]]
"""(hours since admission, value) points that a course passes through, straight between them."""


def morning_hours(admission_hour: int, until: float) -> list[float]:
    """Return the hours of the first sample and of every 06:00 round up to `until`."""
    first = (6 - admission_hour) % 24 or 24
    return [0.5, *[float(hour) for hour in range(first, math.floor(until) + 1, 24)]]


def draw_labs(
    book: Book,
    chart: Chart,
    rng: np.random.Generator,
    hours: Sequence[float],
    *,
    analytes: Sequence[str] = PANEL,
    plans: Mapping[str, Plan] | None = None,
) -> None:
    """Write laboratory results at the given hours. A plan sets an analyte's course; the rest recovers from arrival."""
    kb, plans = load(), plans or {}
    acute = kb.condition(chart.condition).severities[chart.severity].labs
    for name in dict.fromkeys((*analytes, *plans)):
        analyte, noise = kb.analytes[name], rng.standard_normal(len(hours))
        limits = analyte.reference_range(chart.sex, chart.age_years)
        first = float(chart.lab_results[name].value)
        target = limits.low + (limits.high - limits.low) * float(rng.uniform(0.35, 0.65)) if name in acute else first
        for hour, chance in zip(hours, noise, strict=True):
            if name in plans:
                points = plans[name]
                value = float(np.interp(hour, [at for at, _ in points], [level for _, level in points]))
                value *= 1 + 0.3 * _NOISE.get(name, 0.05) * float(chance)
            else:
                value = target + (first - target) * math.exp(-hour / LAB_RECOVERY_HOURS)
                value *= 1 + _NOISE.get(name, 0.05) * float(chance)
            write_lab(book, name, hour, value)


def write_lab(book: Book, name: str, hours: float, value: float, *, status: str = "final", remark: str = "") -> None:
    """Write one laboratory result, rounded to the analyte's precision."""
    analyte = load().analytes[name]
    rounded = round(max(value, 0.0), analyte.decimals)
    text = f"{name} {rounded:.{analyte.decimals}f} {analyte.unit}" + (f" ({remark})" if remark else "")
    book.add("Observation", name, hours, text, value=rounded, unit=analyte.unit, status=status)


def draw_vital_signs(
    book: Book,
    chart: Chart,
    rng: np.random.Generator,
    until: float,
    *,
    every: float = 4.0,
    settled: bool = True,
    final: Mapping[str, float] | None = None,
) -> None:
    """Write vital signs every so many hours, recovering from arrival; `final` holds signs of the last 12 hours.

    Args:
        book: Where to write.
        chart: The patient at arrival.
        rng: Randomness.
        until: Last hour.
        every: Hours between sets.
        settled: False keeps the signs of arrival throughout.
        final: Signs by name that hold in the last 12 hours.
    """
    start, normal = chart.vital_signs[0][1], normal_vital_signs(chart.age_years)
    usual = VitalSigns(
        temperature_c=36.8,
        heart_rate_per_min=round(normal.heart_rate_per_min),
        respiratory_rate_per_min=round(normal.respiratory_rate_per_min),
        systolic_bp_mmhg=round(normal.systolic_bp_mmhg),
        diastolic_bp_mmhg=round(normal.systolic_bp_mmhg * 0.62),
        spo2_percent=97,
        gcs=15,
    )
    spread = {
        "temperature_c": 0.15, "heart_rate_per_min": 3, "respiratory_rate_per_min": 0.8, "systolic_bp_mmhg": 4,
        "diastolic_bp_mmhg": 3, "spo2_percent": 0.6,
    }  # fmt: skip
    for hour in np.arange(0.25, until, every):
        left = math.exp(-float(hour) / VITAL_RECOVERY_HOURS) if settled else 1.0
        detail: dict[str, float] = {}
        for name, sd in spread.items():
            here, there = float(getattr(start, name)), float(getattr(usual, name))
            value = there + (here - there) * left + sd * float(rng.standard_normal())
            detail[name] = round(value, 1) if name == "temperature_c" else round(value)
        detail["spo2_percent"] = min(detail["spo2_percent"], 100)
        detail["gcs"] = round(15 - (15 - (start.gcs or 15)) * left)
        if final and hour > until - 12:
            detail |= final
        write_vital_signs(book, float(hour), detail)


def write_vital_signs(book: Book, hours: float, detail: Mapping[str, float]) -> None:
    """Write one set of vital signs."""
    text = (
        f"T {detail['temperature_c']:.1f} C, HR {detail['heart_rate_per_min']:g}, RR {detail['respiratory_rate_per_min']:g}, "
        f"BP {detail['systolic_bp_mmhg']:g}/{detail['diastolic_bp_mmhg']:g}, SpO2 {detail['spo2_percent']:g} %, "
        f"GCS {detail['gcs']:g}"
    )
    book.add("Observation", "vital_signs", hours, text, detail=detail)


def draw_urine(
    book: Book, chart: Chart, rng: np.random.Generator, rates_ml_kg_h: Sequence[float], *, block_hours: int = 6
) -> None:
    """Write urine volumes, one a block of hours from admission on, from the rates in mL/kg/h."""
    for number, rate in enumerate(rates_ml_kg_h, 1):
        volume = round(rate * chart.weight_kg * block_hours * (1 + 0.02 * float(rng.uniform(-1, 1))))
        text = f"urine {volume} mL in the {block_hours} h before ({volume / chart.weight_kg / block_hours:.2f} mL/kg/h)"
        book.add(
            "Observation", "urine_output", number * block_hours, text, value=volume, unit="mL", detail={"hours": block_hours}
        )  # fmt: skip


def write_gas(
    book: Book, hours: float, *, pao2_mmhg: float, paco2_mmhg: float, ph: float, fio2: float, ventilated: bool
) -> None:
    """Write one arterial blood gas."""
    detail = {
        "pao2_mmhg": round(pao2_mmhg), "paco2_mmhg": round(paco2_mmhg), "ph": round(ph, 2), "fio2": round(fio2, 2),
        "ventilated": ventilated,
    }  # fmt: skip
    text = (
        f"arterial gas: pH {detail['ph']:.2f}, PaO2 {detail['pao2_mmhg']} mmHg, PaCO2 {detail['paco2_mmhg']} mmHg, "
        f"FiO2 {detail['fio2']:.2f}, {'ventilated' if ventilated else 'breathing unaided'}"
    )
    book.add("Observation", "blood_gas", hours, text, detail=detail)
