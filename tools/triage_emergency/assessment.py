"""Tools that look at patients: arrivals, vital signs, questions, examination, bedside tests, results."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError, nearest
from healthgym.knowledge_base import load
from healthgym.toolkit import Toolkit, tool
from healthgym.world import Chart, VitalSigns
from healthgym.world.world import FactValue

System = Literal[
    "general",
    "neurological",
    "cardiovascular",
    "respiratory",
    "abdominal",
    "limb",
    "skin",
    "head_neck",
    "genitourinary",
]
OPENING_WORDS = frozenset({"wrong", "brings", "brought", "happened", "complaint", "reason", "why"})
VITAL_UNITS = {
    "temperature_c": "C",
    "heart_rate_per_min": "/min",
    "respiratory_rate_per_min": "/min",
    "systolic_bp_mmhg": "mmHg",
    "spo2_percent": "%",
    "gcs": "",
    "pain_0_10": "",
}


def age_text(age_years: float) -> str:
    """Return an age as people say it: years, months under 2 years, days under 2 months."""
    if age_years < 1 / 6:
        return f"{age_years * 365.25:.0f} d"
    return f"{age_years * 12:.0f} mo" if age_years < 2 else f"{int(age_years)} y"


def vital_signs_line(vital_signs: VitalSigns) -> str:
    """Return vital signs on one line, in fixed order and units; '-' where not measured."""

    def shown(value: float | int | None) -> str:
        return "-" if value is None else f"{value:g}"

    v = vital_signs
    return (
        f"T {shown(v.temperature_c)} C, HR {shown(v.heart_rate_per_min)}/min, RR {shown(v.respiratory_rate_per_min)}/min, "
        f"BP {shown(v.systolic_bp_mmhg)}/{shown(v.diastolic_bp_mmhg)} mmHg, SpO2 {shown(v.spo2_percent)} %, "
        f"GCS {shown(v.gcs)}, pain {shown(v.pain_0_10)}"
    )


class AssessmentTools(Toolkit):
    """Reading a patient; every answer is one short line."""

    @tool()
    def view_arrivals(self) -> str:
        """List the patients at the desk: age, sex, how they came, opening words."""
        lines = []
        for chart in self.world.charts.values():
            self.world.reveal(chart.patient_id, "age_years", chart.age_years, "years")
            self.world.reveal(chart.patient_id, "chief_complaint", chart.chief_complaint)
            came = f", {chart.arrival}" if chart.arrival else ""
            lines.append(f"{chart.patient_id}: {age_text(chart.age_years)} {chart.sex}{came}: {chart.chief_complaint}")
        return "\n".join(lines)

    @tool(minutes=2)
    def take_vital_signs(self, patient_id: str) -> str:
        """Measure temperature, pulse, breathing, pressure, SpO2, GCS and pain (0-10).

        Args:
            patient_id: For example P1.
        """
        vital_signs = self.world.vital_signs(patient_id)
        self._reveal_vital_signs(patient_id, vital_signs)
        return vital_signs_line(vital_signs)

    @tool(minutes=2)
    def reassess(self, patient_id: str) -> str:
        """Measure a waiting patient again and compare with arrival.

        Args:
            patient_id: For example P1.
        """
        chart = self.world.chart(patient_id)
        now = self.world.vital_signs(patient_id)
        self._reveal_vital_signs(patient_id, now)
        if self.world.minutes >= chart.extra.get("reassess_from_minute", 0):
            self.world.reveal(patient_id, "reassessed", round(self.world.minutes), "minutes")
        return f"minute {self.world.minutes:g}: {vital_signs_line(now)}"

    @tool(minutes=1)
    def ask_patient(self, patient_id: str, question: str) -> str:
        """Ask the patient, or whoever came along, one question.

        Args:
            patient_id: For example P1.
            question: One question in plain words; "What is wrong?" opens.
        """
        chart = self.world.chart(patient_id)
        if OPENING_WORDS & {word.strip("?.,!'").lower() for word in question.split()}:
            return self._opening(chart)
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

    @tool(minutes=1)
    def check_allergies(self, patient_id: str) -> str:
        """Read the allergies, with reactions.

        Args:
            patient_id: For example P1.
        """
        allergies = self.world.chart(patient_id).allergies
        self.world.reveal(patient_id, "allergies", ", ".join(a.substance for a in allergies) or "none")
        shown = ", ".join(f"{a.substance} ({a.reaction or 'unknown'})" for a in allergies)
        return f"allergies: {shown or 'none'}"

    @tool(minutes=1)
    def check_medicines(self, patient_id: str) -> str:
        """Read the medicines the patient takes.

        Args:
            patient_id: For example P1.
        """
        names = ", ".join(m.drug for m in self.world.chart(patient_id).medications) or "none"
        self.world.reveal(patient_id, "medications", names)
        return f"medicines: {names}"

    @tool(minutes=1)
    def check_history(self, patient_id: str) -> str:
        """Read age, weight, pregnancy and long-standing illnesses.

        Args:
            patient_id: For example P1.
        """
        chart = self.world.chart(patient_id)
        illnesses = ", ".join(chart.comorbidities) or "none"
        self.world.reveal(patient_id, "comorbidities", illnesses)
        self.world.reveal(patient_id, "age_years", chart.age_years, "years")
        self.world.reveal(patient_id, "weight_kg", chart.weight_kg, "kg")
        self.world.reveal(patient_id, "pregnancy_weeks", chart.pregnancy_weeks or 0, "weeks")
        pregnant = f", {chart.pregnancy_weeks:g} weeks pregnant" if chart.pregnancy_weeks else ""
        return f"{age_text(chart.age_years)} {chart.sex}, {chart.weight_kg:g} kg{pregnant}; illnesses: {illnesses}"

    @tool(minutes=1)
    def check_glucose(self, patient_id: str) -> str:
        """Measure capillary glucose.

        Args:
            patient_id: For example P1.
        """
        glucose = self.world.vital_signs(patient_id).glucose_mg_dl
        if glucose is None:
            raise ToolError(f"The meter gave no reading for {patient_id}. Order glucose with order_test.")
        self.world.reveal(patient_id, "vital_signs.glucose_mg_dl", glucose, "mg/dL")
        return f"glucose {glucose:g} mg/dL"

    @tool(minutes=5)
    def order_ecg(self, patient_id: str) -> str:
        """Record and read a 12-lead ECG at once.

        Args:
            patient_id: For example P1.
        """
        study = self.world.chart(patient_id).studies.get("ecg")
        self.world.reveal(patient_id, "studies.ecg")
        return f"ECG: {study.report if study else load().studies['ecg'].normal}"

    @tool(effect="write", minutes=1)
    def order_test(self, patient_id: str, test: str) -> str:
        """Order an urgent laboratory test or imaging study; the result comes after its turnaround.

        Args:
            patient_id: For example P1.
            test: Analyte or study, for example troponin_i, lactate, ct_head, chest_xray.
        """
        chart, kb = self.world.chart(patient_id), load()
        name = test.strip().lower().replace(" ", "_").replace("-", "_")
        fact: tuple[str, FactValue, str]
        if name in kb.studies:
            kind = kb.studies[name]
            text = f"{kind.name}: {chart.studies[name].report if name in chart.studies else kind.normal}"
            minutes, fact = kind.turnaround_minutes, (f"studies.{name}", True, "")
        elif name in kb.analytes and name in chart.lab_results:
            result = chart.lab_results[name]
            text = f"{name} {result.value} {result.unit}".rstrip()
            minutes, fact = kb.analytes[name].turnaround_minutes, (f"labs.{name}", result.value, result.unit)
        else:
            raise ToolError(f"No test {test[:60]!r}.{nearest(name[:60], [*kb.studies, *kb.analytes])}")
        order = self.world.order(patient_id, name, minutes, text, [fact])
        return f"{order.id}: {name} ordered, result in {minutes:g} min"

    @tool()
    def read_results(self, patient_id: str) -> str:
        """Read results that have come back for a patient.

        Args:
            patient_id: For example P1.
        """
        self.world.chart(patient_id)
        ready = self.world.read_results(patient_id)
        return "\n".join(f"{order.id}: {order.text}" for order in ready) or "no results yet"

    @tool()
    def wait(self, minutes: Annotated[int, Field(ge=1, le=60)]) -> str:
        """Let time pass: results come back, patients change.

        Args:
            minutes: Minutes to wait.
        """
        self.world.advance(minutes)
        return f"it is minute {self.world.minutes:g}"

    def _reveal_vital_signs(self, patient_id: str, vital_signs: VitalSigns) -> None:
        for name, unit in VITAL_UNITS.items():
            value = getattr(vital_signs, name)
            if value is not None:
                self.world.reveal(patient_id, f"vital_signs.{name}", value, unit)

    def _opening(self, chart: Chart) -> str:
        self.world.reveal(chart.patient_id, "chief_complaint", chart.chief_complaint)
        return chart.chief_complaint
