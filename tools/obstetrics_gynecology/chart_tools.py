"""Tools that read: who is here, what the record says, what she tells, vital signs, examination, test results."""

from typing import Annotated, Literal, get_args

from pydantic import Field

from healthgym.errors import ToolError, nearest
from healthgym.knowledge_base import load
from healthgym.toolkit import Toolkit, tool
from healthgym.world import Chart, VitalSigns

from .tables import table

Section = Literal[
    "booking", "dates", "scans", "births", "illnesses", "medicines", "blood_results", "visits", "labour_notes"
]
SECTIONS: tuple[str, ...] = get_args(Section)
Region = Literal["general", "neurological", "cardiovascular", "respiratory", "abdominal", "genitourinary", "skin"]
_VITALS = {
    "temperature_c": "C",
    "heart_rate_per_min": "/min",
    "respiratory_rate_per_min": "/min",
    "systolic_bp_mmhg": "mmHg",
    "diastolic_bp_mmhg": "mmHg",
    "spo2_percent": "%",
    "gcs": "",
}
REPEAT_MINUTES = 15


def is_fetus(chart: Chart) -> bool:
    """Say whether a chart is that of a fetus or newborn."""
    return chart.patient_id.startswith("F")


class ChartTools(Toolkit):
    """Reading the mother's chart and looking at her."""

    @tool()
    def view_patients(self) -> str:
        """List who is in your care today, with the date."""
        lines = []
        for chart in self.world.charts.values():
            if is_fetus(chart):
                lines.append(f"{chart.patient_id}: her {chart.extra['is']}")
                continue
            self.world.reveal(chart.patient_id, "age_years", chart.age_years, "years")
            self.world.reveal(chart.patient_id, "chief_complaint", chart.chief_complaint)
            weeks = f", {chart.extra['weeks_text']}" if chart.extra.get("weeks_text") else ""
            if weeks:
                self.world.reveal(chart.patient_id, "gestational_age", chart.extra["weeks_text"])
            lines.append(f'{chart.patient_id}: {chart.age_years:.0f} y{weeks}: "{chart.chief_complaint}"')
        today = next(chart.extra["today"] for chart in self.world.charts.values() if not is_fetus(chart))
        return "\n".join([f"Today is {today}.", *lines])

    @tool(minutes=1)
    def read_record(self, patient_id: str, section: Section) -> str:
        """Read one section of the mother's record.

        Args:
            patient_id: For example P1.
            section: medicines holds allergies; visits holds earlier pressures, urine and glucose.
        """
        chart = self.mother(patient_id)
        text = str(chart.extra["record"][section])
        self.world.reveal(patient_id, f"record.{section}", True)
        if section == "medicines":
            self.world.reveal(patient_id, "allergies", ", ".join(a.substance for a in chart.allergies) or "none")
            self.world.reveal(patient_id, "medications", ", ".join(m.drug for m in chart.medications) or "none")
        return text

    @tool(minutes=1)
    def ask_patient(self, patient_id: str, question: str) -> str:
        """Ask the patient one question.

        Args:
            patient_id: For example P1.
            question: One question in plain words.
        """
        return self.world.ask(patient_id, question)

    @tool(minutes=2)
    def take_vital_signs(self, patient_id: str) -> str:
        """Measure her temperature, pulse, breathing, blood pressure, SpO2 and GCS.

        Args:
            patient_id: For example P1.
        """
        self.mother(patient_id)
        return self._shown(patient_id, self.world.vital_signs(patient_id))

    @tool(minutes=1)
    def repeat_blood_pressure(self, patient_id: str) -> str:
        """Let her sit and rest, and measure the pressure again after 15 minutes.

        Args:
            patient_id: For example P1.
        """
        chart = self.mother(patient_id)
        self.world.advance(REPEAT_MINUTES - 1)
        now = self.world.vital_signs(patient_id)
        settled = chart.extra.get("settled_bp_mmhg")
        systolic, diastolic = settled or (now.systolic_bp_mmhg, now.diastolic_bp_mmhg)
        if systolic is None:
            raise ToolError(f"{patient_id} has no pressure to repeat.")
        self.world.reveal(patient_id, "repeat_bp", f"{systolic}/{diastolic}", "mmHg")
        return f"minute {self.world.minutes + 1:g}: {systolic}/{diastolic} mmHg at rest"

    @tool(minutes=2)
    def examine(self, patient_id: str, region: Region) -> str:
        """Examine one region; genitourinary is womb after birth, placenta, birth canal, or pelvis.

        Args:
            patient_id: For example P1.
            region: Region.
        """
        found = [f for f in self.mother(patient_id).findings if f.reveal == "examine" and f.system == region]
        for finding in found:
            self.world.reveal(patient_id, f"findings.{finding.id}", finding.present)
        return " ".join(f.text for f in found) or f"{region}: nothing abnormal."

    @tool(effect="write", minutes=1)
    def order_test(self, patient_id: str, test: str) -> str:
        """Order a test; the result comes after its time has passed (use wait).

        Args:
            patient_id: For example P1.
            test: For example full_blood_count, transvaginal_scan, kleihauer.
        """
        chart, tests = self.world.chart(patient_id), table("tests")
        row = tests.get(test.strip().lower())
        if row is None:
            raise ToolError(f"No test {test[:40]!r}.{nearest(test[:40], tests)}")
        if row["of"] != ("fetus" if is_fetus(chart) else "mother"):
            raise ToolError(f"{row['id']} is ordered on the {row['of']}, and {patient_id} is not. Order it there.")
        text = chart.extra.get("tests", {}).get(row["id"]) or self._panel(chart, row) or row["normal"]
        fact = (f"tests.{row['id']}", text, "")
        order = self.world.order(patient_id, row["id"], row["minutes"], f"{row['name']}: {text}", [fact])
        return f"ordered {order.id}: {row['name']}, ready in {row['minutes']:g} min"

    @tool()
    def wait(self, minutes: Annotated[int, Field(ge=1, le=240)]) -> str:
        """Let time pass; results that become ready and what happens meanwhile are told.

        Args:
            minutes: Minutes to wait.
        """
        self.world.advance(minutes)
        return f"minute {self.world.minutes:g}"

    def mother(self, patient_id: str) -> Chart:
        """Return the chart of a mother or gynaecological patient. Raises ToolError for a fetus or newborn."""
        chart = self.world.chart(patient_id)
        if is_fetus(chart):
            raise ToolError(f"{patient_id} is a {chart.extra['is']}; use the tools for it, or name the mother.")
        return chart

    def _shown(self, patient_id: str, vital_signs: VitalSigns) -> str:
        for name, unit in _VITALS.items():
            self.world.reveal(patient_id, f"vital_signs.{name}", getattr(vital_signs, name), unit)
        v = vital_signs
        return (
            f"T {v.temperature_c:g} C, HR {v.heart_rate_per_min}/min, RR {v.respiratory_rate_per_min}/min, "
            f"BP {v.systolic_bp_mmhg}/{v.diastolic_bp_mmhg} mmHg, SpO2 {v.spo2_percent} %, GCS {v.gcs}"
        )

    def _panel(self, chart: Chart, row: dict[str, object]) -> str:
        """Return the values of a panel of analytes from the chart; empty for other tests."""
        parts = []
        for name in row.get("analytes", ()):  # type: ignore[attr-defined]
            result = chart.lab_results.get(name)
            if result is not None:
                analyte = load().analytes[name]
                limits = analyte.reference_range(chart.sex, chart.age_years)
                value = result.at(self.world.minutes)
                parts.append(f"{analyte.name} {value:g} {analyte.unit} ({limits.low:g}-{limits.high:g})")
        return ", ".join(parts)
