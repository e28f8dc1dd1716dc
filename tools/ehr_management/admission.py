"""Makes a stay: the patient at arrival from a condition profile, and the record that grows over the hospital days."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from healthgym.errors import TaskError
from healthgym.knowledge_base import load
from healthgym.knowledge_base.patients import sample_patient
from healthgym.knowledge_base.reading import read_yaml
from healthgym.tasks.families import Draw
from healthgym.world import Chart, Medication

from .record import Book
from .timeline import stamp

FOLDER = Path(__file__).parent
FIRST_DAY, DAYS_COVERED = datetime(2024, 1, 8), 600
"""Admissions fall on these dates; a design choice."""
DAYTIME = (8.0, 18.0)
"""Clock hours between which episodes begin; a stay is lengthened until its end falls there."""
MAX_PATIENTS = 200


@lru_cache(maxsize=1)
def stays() -> Mapping[str, Mapping[str, Any]]:
    """Return the illnesses of which stays are made, by condition id."""
    return {entry["id"]: entry for entry in read_yaml(FOLDER / "stays.yaml")}


def conditions_for(draw: Draw, among: Sequence[str] = ()) -> list[str]:
    """Return the illnesses that a split may use: the held-out ones in test_ood alone."""
    is_ood = draw.split == "test_ood"
    return [
        name for name, stay in stays().items() if bool(stay.get("held_out")) is is_ood and (not among or name in among)
    ]


def pick(rng: np.random.Generator, options: Sequence[Any]) -> Any:
    """Return one of `options` as it is."""
    return options[int(rng.integers(len(options)))]


@dataclass
class Admission:
    """A stay being written: the patient at arrival, the book, and how long the patient has been in."""

    rng: np.random.Generator
    chart: Chart
    book: Book
    hours: float
    """From admission to the start of the episode."""

    @property
    def admission_hour(self) -> int:
        """Clock hour of admission."""
        return self.book.admitted.hour

    def rounds(self) -> list[float]:
        """Return the hours of the doctors' rounds, at 10:00 from the day after admission on."""
        first = 34 - self.admission_hour
        return [float(hour) for hour in range(first, int(self.hours) + 1, 24)]

    def stamp(self, hours: float) -> str:
        """Return the stamp at so many hours since admission."""
        return stamp(self.book.admitted, hours)

    def finish(self, **extra: Any) -> Chart:
        """Return the chart with its record; what lies in neither is left out."""
        return replace(
            self.chart,
            findings=(),
            lab_results={},
            studies={},
            vital_signs=self.chart.vital_signs[:1],
            chief_complaint="",
            arrival="",
            extra={
                "admitted": self.stamp(0),
                "now": self.stamp(self.hours),
                "record": self.book.entries(),
                **extra,
            },
        )


def admit(
    draw: Draw,
    condition: str,
    *,
    hours: float,
    fits: Callable[[Chart], bool] = lambda chart: True,
    severity: str | None = None,
) -> Admission:
    """Draw a patient whom `fits` accepts and open the record of a stay of `hours`, or a little more, until daytime.

    Raises:
        TaskError: none of many drawn patients fits.
    """
    youngest, oldest = stays()[condition]["ages"]
    for _ in range(MAX_PATIENTS):
        chart = sample_patient(
            draw.rng,
            condition,
            patient_id=f"P{1000 + draw.seed % 9000}",
            severity=severity,
            age_years=float(draw.rng.integers(youngest, oldest + 1)),
            pregnancy_weeks=0,
        )
        if fits(chart):
            day = FIRST_DAY + timedelta(days=int(draw.rng.integers(DAYS_COVERED)), hours=int(draw.rng.integers(8, 23)))
            while not DAYTIME[0] <= (day.hour + hours) % 24 <= DAYTIME[1]:
                hours += 1
            return Admission(draw.rng, chart, Book(day), hours)
    raise TaskError(f"{draw.family} {draw.split} {draw.index}: no patient with {condition} fits after {MAX_PATIENTS}")


def write_background(stay: Admission, *, problems: Sequence[str] | None = None) -> None:
    """Write problem list, allergies, home medicines and the current encounter."""
    book, chart, kb = stay.book, stay.chart, load()
    names = [kb.comorbidities[name].name for name in chart.comorbidities] if problems is None else problems
    for name in names:
        book.add("Condition", "condition", -24.0 * float(stay.rng.integers(300, 3000)), name)
    for allergy in chart.allergies:
        substance = allergy.substance.replace("_", " ")
        text = f"allergy to {substance}: {allergy.reaction or 'reaction unknown'}, {allergy.severity}"
        book.add("AllergyIntolerance", "allergy", -24.0 * float(stay.rng.integers(300, 3000)), text)
    for item in chart.medications:
        write_home(stay, item)
    title = kb.condition(chart.condition).name
    book.add(
        "Encounter", "encounter", 0, f"inpatient stay, emergency admission: {title}", detail={"class": "inpatient"}
    )


def write_home(stay: Admission, item: Medication, *, remark: str = "") -> None:
    """Write one medicine of the list of what is taken at home."""
    text = f"{dose_text(item.drug, item.dose_mg, item.times_per_day, item.route)} at home" + (
        f"; {remark}" if remark else ""
    )
    detail = {"drug": item.drug, "dose_mg": item.dose_mg, "times_per_day": item.times_per_day}
    stay.book.add("MedicationStatement", "home", 1.0, text, detail=detail)


def write_order(stay: Admission, drug: str, dose_mg: float, times_per_day: float, *, hours: float, route: str) -> None:
    """Write one active order of the ward."""
    detail = {"drug": drug, "dose_mg": dose_mg, "times_per_day": times_per_day, "route": route}
    stay.book.add("MedicationRequest", "order", hours, dose_text(drug, dose_mg, times_per_day, route), detail=detail)


def write_visit(stay: Admission, days_before: float, kind: str, text: str) -> None:
    """Write an earlier encounter: outpatient, emergency or inpatient."""
    stay.book.add("Encounter", "encounter", -24.0 * days_before, f"{kind}: {text}", detail={"class": kind})


def dose_text(drug: str, dose_mg: float, times_per_day: float, route: str = "") -> str:
    """Return a prescription as it is read: metformin 500 mg x2/day oral."""
    return f"{drug} {dose_mg:g} mg x{times_per_day:g}/day {route}".strip()
