"""What the builders of risk-score patients share: the drawn case, and how its facts get into a chart."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from healthgym.knowledge_base.patients import sample_patient
from healthgym.knowledge_base.pharmacology import find_drug
from healthgym.tasks import Call
from healthgym.tasks.families import Draw
from healthgym.world import Chart, Finding, Medication, Persona, VitalSigns

from .tables import table


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A patient, what must be seen, and what the instrument says.

    seen: facts of the record or vital signs that the instrument uses, by key without the patient.
    arguments: what the instrument's tool is called with.
    """

    chart: Chart
    score: float
    decision: str
    tool: str
    arguments: Mapping[str, Any]
    findings: tuple[str, ...] = ()
    labs: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    ecg: bool = False
    more: tuple[Call, ...] = field(default=())
    """Calls of a second instrument."""


def flip(draw: Draw, share: float) -> bool:
    """Return True with this probability."""
    return bool(draw.rng.random() < share)


def adult(draw: Draw, condition: str, youngest: int, oldest: int, **options: Any) -> Chart:
    """Draw an adult of an illness without findings, not pregnant, who answers plainly."""
    age = float(draw.rng.integers(youngest, oldest + 1))
    chart = sample_patient(draw.rng, condition, age_years=age, pregnancy_weeks=0, persona=Persona(), **options)
    return replace(chart, findings=())


def with_facts(chart: Chart, facts: Mapping[str, bool]) -> Chart:
    """Return the chart whose only findings are these facts of `risk_facts.yaml`."""
    made = []
    for name, present in facts.items():
        row = table("risk_facts")[name]
        lay = row.get("lay" if present else "no_lay", "")
        made.append(
            Finding(
                id=name,
                reveal=row["reveal"],
                present=present,
                text=row["text"] if present else row["absent"],
                lay=lay,
                topics=tuple(row.get("topics", ())),
                system=row.get("system", ""),
            )
        )
    return replace(chart, findings=tuple(made))


def with_vital_signs(chart: Chart, **values: Any) -> Chart:
    """Return the chart with constant vital signs, some of them changed."""
    return replace(chart, vital_signs=((0.0, replace(chart.vital_signs[0][1], **values)),))


def vitals(chart: Chart) -> VitalSigns:
    """Return the vital signs at arrival."""
    return chart.vital_signs_at(0.0)


def shown(chart: Chart, name: str) -> float:
    """Return a result as the laboratory prints it."""
    return float(chart.lab_results[name].value)


def illnesses(draw: Draw, chart: Chart, shares: Mapping[str, float]) -> Chart:
    """Return the chart with illnesses drawn by share and no medicines but those that the builder adds."""
    return replace(
        chart, comorbidities=tuple(name for name, share in shares.items() if flip(draw, share)), medications=()
    )


def taking(chart: Chart, *drugs: str) -> Chart:
    """Return the chart with these medicines, at usual doses, and no others."""
    made = []
    for name in drugs:
        dose = find_drug(name).usual_dose
        if dose is not None:
            made.append(Medication(drug=name, dose_mg=dose.dose_mg, times_per_day=dose.times_per_day))
    return replace(chart, medications=tuple(made))
