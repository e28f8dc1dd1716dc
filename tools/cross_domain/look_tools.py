"""Tools that look at the patient of a pathway: brief, record, observations, questions, examination, tests, time."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError, nearest
from healthgym.knowledge_base import load
from healthgym.toolkit import Toolkit, tool
from healthgym.world import VitalSigns
from healthgym.world.world import FactValue

from .loading import pathways
from .schema import Pathway

System = Literal[
    "general", "neurological", "cardiovascular", "respiratory", "abdominal", "limb", "skin", "head_neck", "genitourinary"
]  # fmt: skip
UNITS = {
    "temperature_c": "C", "heart_rate_per_min": "/min", "respiratory_rate_per_min": "/min", "systolic_bp_mmhg": "mmHg",
    "diastolic_bp_mmhg": "mmHg", "spo2_percent": "%", "gcs": "", "glucose_mg_dl": "mg/dL",
}  # fmt: skip


def age_text(age_years: float) -> str:
    """Return an age as people say it: days under 3 months, months under 2 years, years."""
    if age_years < 0.25:
        return f"{age_years * 365.25:.0f} days"
    return f"{age_years * 12:.0f} months" if age_years < 2 else f"{int(age_years)} y"


class LookTools(Toolkit):
    """Reading the patient; nothing here changes the chart except an order."""

    def pathway(self, patient_id: str) -> Pathway:
        """Return the pathway that a patient is on."""
        return pathways()[self.world.chart(patient_id).extra["pathway"]]

    def service(self, patient_id: str) -> str:
        """Return the service that a patient is in now."""
        return str(self.world.state.get(f"{patient_id}.service") or self.pathway(patient_id).start)

    @tool()
    def read_brief(self, patient_id: str) -> str:
        """Read who you are now, where the patient is, and what this service can do.

        Args:
            patient_id: For example P1.
        """
        chart, service = self.world.chart(patient_id), self.service(patient_id)
        self.world.reveal(patient_id, "chief_complaint", chart.chief_complaint)
        self.world.reveal(patient_id, "age_years", chart.age_years, "years")
        note = self.world.state.get(f"{patient_id}.handover.{service}")
        lines = [
            f"minute {self.world.minutes:g}, {service}: {self.pathway(patient_id).services[service]}",  # type: ignore[index]
            f'{patient_id}, {age_text(chart.age_years)}, {chart.sex}: "{chart.chief_complaint}"',
        ]
        return "\n".join([*lines, f"handover: {note}"] if note else lines)

    @tool(minutes=1)
    def review_record(self, patient_id: str, section: Literal["background", "allergies", "medicines"]) -> str:
        """Read one section of the record.

        Args:
            patient_id: For example P1.
            section: background is age, weight, pregnancy and illnesses.
        """
        chart = self.world.chart(patient_id)
        if section == "allergies":
            known = ", ".join(f"{a.substance} ({a.reaction or 'reaction unknown'})" for a in chart.allergies) or "none"
            self.world.reveal(patient_id, "allergies", ", ".join(a.substance for a in chart.allergies) or "none")
            return f"allergies: {known}"
        if section == "medicines":
            known = ", ".join(m.drug for m in chart.medications) or "none"
            self.world.reveal(patient_id, "medications", known)
            return f"medicines: {known}"
        illnesses = ", ".join(chart.comorbidities) or "none"
        for key, value, unit in (
            ("age_years", chart.age_years, "years"), ("weight_kg", chart.weight_kg, "kg"), ("comorbidities", illnesses, ""),
            ("pregnancy_weeks", chart.pregnancy_weeks or 0, "weeks"),
        ):  # fmt: skip
            self.world.reveal(patient_id, key, value, unit)
        weeks = f", {chart.pregnancy_weeks:g} weeks pregnant" if chart.pregnancy_weeks else ""
        return f"{age_text(chart.age_years)} {chart.sex}, {chart.weight_kg:g} kg{weeks}; illnesses: {illnesses}"

    @tool(minutes=2)
    def take_observations(self, patient_id: str) -> str:
        """Measure the vital signs and the capillary glucose now.

        Args:
            patient_id: For example P1.
        """
        now = self.world.vital_signs(patient_id)
        for name, unit in UNITS.items():
            value = getattr(now, name)
            if value is not None:
                self.world.reveal(patient_id, f"vital_signs.{name}", value, unit)
        return f"minute {self.world.minutes:g}: {_line(now)}"

    @tool(minutes=1)
    def ask_patient(self, patient_id: str, question: str) -> str:
        """Ask the patient, or whoever came along, one question.

        Args:
            patient_id: For example P1.
            question: One question in plain words.
        """
        return self.world.ask(patient_id, question)

    @tool(minutes=2)
    def examine(self, patient_id: str, system: System) -> str:
        """Examine one body system.

        Args:
            patient_id: For example P1.
            system: Body system.
        """
        found = [f for f in self.world.chart(patient_id).findings if f.reveal == "examine" and f.system == system]
        for finding in found:
            self.world.reveal(patient_id, f"findings.{finding.id}", finding.present)
        return " ".join(f.text for f in found) or f"{system}: nothing abnormal."

    @tool(effect="write", minutes=1)
    def order_test(self, patient_id: str, test: str) -> str:
        """Order a laboratory test or study; the sample is taken now and the result arrives after its turnaround.

        Args:
            patient_id: For example P1.
            test: Id of an analyte or study, for example ecg, potassium, lactate, ct_head.
        """
        chart, kb, name = self.world.chart(patient_id), load(), test.strip().lower()
        fact: tuple[str, FactValue, str]
        if name in kb.studies:
            kind = kb.studies[name]
            text = f"{kind.name}: {chart.studies[name].report if name in chart.studies else kind.normal}"
            minutes, fact = kind.turnaround_minutes, (f"studies.{name}", True, "")
        elif name in kb.analytes and name in chart.lab_results:
            unit, value = chart.lab_results[name].unit, self.lab(patient_id, name, self.world.minutes)
            text = f"{name} {value} {unit}".rstrip()
            minutes, fact = kb.analytes[name].turnaround_minutes, (f"labs.{name}", value, unit)
        else:
            raise ToolError(f"No test {test[:60]!r}.{nearest(name[:60], [*kb.studies, *kb.analytes])}")
        if self.world.state.get(f"{patient_id}.sampled.{name}") is not None:
            again = (f"again.{name}", value, unit) if fact[0].startswith("labs.") else (f"again.{name}", True, "")
            facts = [fact, again]
        else:
            facts = [fact]
        self.world.state.set(f"{patient_id}.sampled.{name}", self.world.minutes)
        order = self.world.order(patient_id, name, minutes, text, facts)
        return f"{order.id}: {name} ordered, result in {minutes:g} min"

    def lab(self, patient_id: str, analyte: str, minutes: float) -> float | str:
        """Return what a sample taken at a minute shows: the chart's value, changed by what treatment has done."""
        value = self.world.chart(patient_id).lab_results[analyte].at(minutes)
        for since, name, changed in self.world.state.get(f"{patient_id}.lab_changes", ()):
            if name == analyte and since <= minutes:
                value = changed
        return value

    @tool()
    def wait(self, minutes: Annotated[int, Field(ge=1, le=60)]) -> str:
        """Let time pass: results come back, treatments act, patients change.

        Args:
            minutes: Minutes to wait.
        """
        self.world.advance(minutes)
        return f"it is minute {self.world.minutes:g}"

    @tool()
    def timeline(self, patient_id: str) -> str:
        """List what was ordered, given, started and handed over so far, by minute, with results still awaited.

        Args:
            patient_id: For example P1.
        """
        self.world.chart(patient_id)
        lines = []
        for call in self.world.calls:
            if call.effect == "write" and call.error is None and call.arguments.get("patient_id") == patient_id:
                detail = " ".join(str(value)[:40] for name, value in call.arguments.items() if name != "patient_id")
                lines.append(f"minute {call.minutes:g}: {call.tool} {detail}")
        due = [f"{o.item} at minute {o.due_at:g}" for o in self.world.orders.values() if o.due_at > self.world.minutes]
        lines.append(
            f"now minute {self.world.minutes:g} in {self.service(patient_id)}; awaited: {', '.join(due) or 'nothing'}"
        )
        return "\n".join(lines)


def _line(v: VitalSigns) -> str:
    def shown(value: float | int | None) -> str:
        return "-" if value is None else f"{value:g}"

    return (
        f"T {shown(v.temperature_c)} C, HR {shown(v.heart_rate_per_min)}/min, RR {shown(v.respiratory_rate_per_min)}/min, "
        f"BP {shown(v.systolic_bp_mmhg)}/{shown(v.diastolic_bp_mmhg)} mmHg, SpO2 {shown(v.spo2_percent)} %, "
        f"GCS {shown(v.gcs)}, glucose {shown(v.glucose_mg_dl)} mg/dL"
    )
