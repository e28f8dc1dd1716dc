"""Tools that read the record and measure: history, medicines, vital signs, laboratory, ECG, waiting."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError, nearest
from healthgym.knowledge_base import load
from healthgym.toolkit import Toolkit, tool

Section = Literal["history", "medicines", "allergies", "reproductive", "care_plan", "notes"]
ECG_MINUTES = 10


class RecordTools(Toolkit):
    """What is written down, and what can be measured."""

    @tool(minutes=1)
    def read_record(self, patient_id: str, section: Section) -> str:
        """Read one section of the record.

        Args:
            patient_id: For example P1.
            section: Which section; care_plan holds advance decisions, proxies and usual behaviour.
        """
        chart, reveal = self.world.chart(patient_id), self.world.reveal
        if section == "history":
            illnesses = ", ".join(name.replace("_", " ") for name in chart.comorbidities) or "no long-standing illness"
            reveal(patient_id, "comorbidities", illnesses)
            reveal(patient_id, "age_years", chart.age_years, "years")
            reveal(patient_id, "weight_kg", chart.weight_kg, "kg")
            return f"{int(chart.age_years)} y, {chart.sex}, {chart.weight_kg:g} kg; {illnesses}"
        if section == "medicines":
            taken = [f"{m.drug} {m.dose_mg:g} mg x{m.times_per_day:g}/day" for m in chart.medications]
            stopped = [f"{drug} (last taken {days} days ago)" for drug, days in chart.extra.get("stopped", {}).items()]
            reveal(patient_id, "medications", ", ".join(m.drug for m in chart.medications) or "none")
            for drug, days in chart.extra.get("stopped", {}).items():
                reveal(patient_id, f"stopped.{drug}", days, "days")
            return f"takes: {', '.join(taken) or 'none'}; stopped: {', '.join(stopped) or 'none'}"
        if section == "allergies":
            names = ", ".join(f"{a.substance} ({a.reaction or 'unknown'})" for a in chart.allergies) or "none"
            reveal(patient_id, "allergies", names)
            return f"allergies: {names}"
        if section == "reproductive":
            reveal(patient_id, "pregnancy_weeks", chart.pregnancy_weeks or 0, "weeks")
            if chart.sex == "male":
                return "male"
            pregnancy = f"pregnant, week {chart.pregnancy_weeks:g}" if chart.pregnancy_weeks else "not pregnant"
            return f"{pregnancy}; {'breastfeeding' if chart.lactating else 'not breastfeeding'}"
        reveal(patient_id, section)
        return str(chart.extra.get(section) or f"{section.replace('_', ' ')}: nothing written")

    @tool(minutes=2)
    def vital_signs(self, patient_id: str) -> str:
        """Measure pulse, blood pressure, temperature, breathing, SpO2 and GCS.

        Args:
            patient_id: For example P1.
        """
        v = self.world.vital_signs(patient_id)
        self.world.reveal(patient_id, "vital_signs.heart_rate_per_min", v.heart_rate_per_min, "/min")
        self.world.reveal(patient_id, "vital_signs.gcs", v.gcs)
        return (
            f"HR {v.heart_rate_per_min}/min, BP {v.systolic_bp_mmhg}/{v.diastolic_bp_mmhg} mmHg, T {v.temperature_c} C, "
            f"RR {v.respiratory_rate_per_min}/min, SpO2 {v.spo2_percent} %, GCS {v.gcs}"
        )

    @tool(effect="write", minutes=1, cost=1)
    def order_test(self, patient_id: str, test: str) -> str:
        """Order a blood or urine test, or an ECG; the result comes by itself when time has passed.

        Args:
            patient_id: For example P1.
            test: For example lithium_level, neutrophils, tsh or ecg.
        """
        chart, name = self.world.chart(patient_id), test.strip().lower().replace(" ", "_")
        if name == "ecg":
            rate, qt = chart.extra.get("ecg", (72, 390))
            facts = [("ecg.qt_ms", qt, "ms"), ("ecg.heart_rate_per_min", rate, "/min")]
            order = self.world.order(patient_id, "ecg", ECG_MINUTES, f"ecg: sinus rhythm {rate}/min, QT {qt} ms", facts)
            return f"{order.id}: ecg, ready in {ECG_MINUTES} minutes"
        result = chart.lab_results.get(name)
        if result is None:
            raise ToolError(f"No test {test[:40]!r}.{nearest(name[:40], (*chart.lab_results, 'ecg'))}")
        analyte = load().analytes[name]
        value = result.at(self.world.minutes)
        limits = analyte.reference_range(chart.sex, chart.age_years)
        text = f"{name} {value:g} {result.unit} (reference {limits.low:g} to {limits.high:g})"
        minutes = analyte.turnaround_minutes
        order = self.world.order(patient_id, name, minutes, text, [(f"labs.{name}", value, result.unit)])
        return f"{order.id}: {name}, ready in {minutes:g} minutes"

    @tool()
    def wait(self, minutes: Annotated[int, Field(ge=1, le=180)]) -> str:
        """Let time pass.

        Args:
            minutes: How long.
        """
        self.world.advance(minutes)
        return f"minute {self.world.minutes:g}"
