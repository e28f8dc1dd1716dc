"""Adult patients for the task families: coherent, seeded, with what must be asked or ordered kept hidden."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from healthgym.knowledge_base import load
from healthgym.knowledge_base.normal import body_size
from healthgym.tasks.families import Draw
from healthgym.world import Allergy, Chart, Finding, LabResult, Medication, Persona, Study

from .knowledge import ages_of, sexes_of
from .regimen import OTC_FINDING

ANALYTES = ("creatinine", "potassium", "magnesium", "sodium", "inr", "alt", "ck", "hemoglobin")
"""Tests that order_lab offers; every patient of the domain has a result for each."""
OTC_TOPICS = (
    "over the counter", "otc", "herbal", "herb", "supplement", "remedy", "remedies", "natural", "vitamin", "shop",
    "pharmacy", "bought", "buy", "non-prescription", "prescribed", "yourself", "painkiller", "additional",
)  # fmt: skip
_STYLES = ("plain", "terse", "anxious", "chatty")


def patient_id(draw: Draw) -> str:
    """Return an id that differs from case to case, so that a call meant for another patient fails."""
    return f"P{1000 + draw.seed % 9000}"


def make_chart(
    draw: Draw,
    medications: Sequence[Medication],
    *,
    age_years: int | None = None,
    sex: str | None = None,
    comorbidities: Sequence[str] = (),
    allergies: Sequence[Allergy] = (),
    otc: Sequence[Medication] = (),
    creatinine_mg_dl: float | None = None,
    old_creatinine: dict[str, float] | None = None,
    pregnancy_weeks: float | None = None,
    lactating: bool = False,
    qtc_ms: int | None = None,
) -> Chart:
    """Return an adult's chart; what is not given is drawn from `draw.rng` within normal limits."""
    rng = draw.rng
    youngest, oldest = ages_of(comorbidities)
    age = age_years if age_years is not None else int(rng.integers(max(25, youngest), min(85, oldest) + 1))
    possible = sorted(sexes_of(comorbidities))
    sex = sex or possible[int(rng.integers(len(possible)))]
    weight, height = body_size(rng, sex, age)
    return Chart(
        patient_id=patient_id(draw),
        age_years=age,
        sex=sex,  # type: ignore[arg-type]
        weight_kg=weight,
        height_cm=height,
        pregnancy_weeks=pregnancy_weeks,
        lactating=lactating,
        comorbidities=tuple(dict.fromkeys(comorbidities)),
        findings=(_otc_finding(otc),),
        lab_results=_lab_results(rng, sex, age, creatinine_mg_dl),
        studies={"ecg": _ecg(rng, sex, qtc_ms)},
        medications=tuple(medications),
        allergies=tuple(allergies),
        persona=Persona(style=str(rng.choice(_STYLES))),  # type: ignore[arg-type]
        extra=_extra(otc, old_creatinine),
    )


def _otc_finding(otc: Sequence[Medication]) -> Finding:
    names = " and ".join(item.drug.replace("_", " ") for item in otc)
    lay = f"Yes, from the shop I take {names}." if otc else "No, nothing from the shop, no herbs or supplements."
    text = f"takes {names} without prescription" if otc else "no over-the-counter or herbal products"
    return Finding(id=OTC_FINDING, reveal="ask", present=bool(otc), text=text, lay=lay, topics=OTC_TOPICS)


def _lab_results(rng: np.random.Generator, sex: str, age: float, creatinine: float | None) -> dict[str, LabResult]:
    results = {}
    for name in ANALYTES:
        analyte = load().analytes[name]
        limits = analyte.reference_range(sex, age)
        value = float(
            rng.uniform(limits.low + 0.2 * (limits.high - limits.low), limits.high - 0.2 * (limits.high - limits.low))
        )
        if name == "creatinine" and creatinine is not None:
            value = creatinine
        results[name] = LabResult(analyte=name, value=round(value, analyte.decimals), unit=analyte.unit)
    return results


def _ecg(rng: np.random.Generator, sex: str, qtc_ms: int | None) -> Study:
    """Draw a normal QTc unless one is given. Upper limits 450 ms (men) and 460 ms (women): AHA/ACC/HRS 2009."""
    interval = qtc_ms if qtc_ms is not None else int(rng.integers(395, 446 if sex == "male" else 456))
    return Study(id="ecg", report=f"Sinus rhythm, QTc {interval} ms.")


def _extra(otc: Sequence[Medication], old_creatinine: dict[str, float] | None) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    if otc:
        extra["otc"] = tuple(asdict(item) for item in otc)
    if old_creatinine is not None:
        extra["old_creatinine"] = dict(old_creatinine)
    return extra
