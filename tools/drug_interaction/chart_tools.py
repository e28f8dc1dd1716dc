"""Tools that look at the patient: medicines, record, laboratory, ECG and the patient's own words."""

from typing import Literal

from healthgym.errors import ToolError
from healthgym.toolkit import Toolkit, tool
from healthgym.world import Chart

from .regimen import current

Analyte = Literal["creatinine", "potassium", "magnesium", "sodium", "inr", "alt", "ck", "hemoglobin"]
TURNAROUND_MINUTES = 45.0
"""Simulated minutes from an order to its result."""


class ChartTools(Toolkit):
    """Reading one patient's chart, and finding out what is not in it."""

    @tool(minutes=1)
    def view_medications(self, patient_id: str) -> str:
        """List the medicines on the chart as they stand now, with doses.

        Args:
            patient_id: Patient id.
        """
        taken = current(self.world, patient_id)
        self.world.reveal(patient_id, "medications", ", ".join(taken) or "none")
        for item in taken.values():
            self.world.reveal(patient_id, f"medications.{item.drug}", item.daily_mg, "mg/day")
        return "\n".join(str(item) for item in taken.values()) or f"{patient_id} takes no medicines on record."

    @tool(minutes=1)
    def view_patient(self, patient_id: str) -> str:
        """Show age, sex, weight, conditions, allergies, pregnancy and lactation; blood results must be ordered.

        Args:
            patient_id: Patient id.
        """
        chart, world = self.world.chart(patient_id), self.world
        facts = (
            ("age_years", chart.age_years, "years"),
            ("sex", chart.sex, ""),
            ("weight_kg", chart.weight_kg, "kg"),
            ("pregnancy_weeks", chart.pregnancy_weeks, "weeks"),
            ("lactating", chart.lactating, ""),
            ("comorbidities", ", ".join(chart.comorbidities) or "none", ""),
            ("allergies", ", ".join(a.substance for a in chart.allergies) or "none", ""),
        )
        for key, value, unit in facts:
            world.reveal(patient_id, key, value, unit)
        return _record(chart)

    @tool(effect="write", minutes=2, cost=10)
    def order_lab(self, patient_id: str, analyte: Analyte) -> str:
        """Order a blood test; the result is ready 45 minutes later (collect_results waits for it).

        Args:
            patient_id: Patient id.
            analyte: What to measure.
        """
        result = self.world.chart(patient_id).lab_results.get(analyte)
        if result is None:
            raise ToolError(f"No sample for {analyte} can be had from {patient_id} today.")
        text = f"{analyte} {result.value} {result.unit}".rstrip()
        fact = (f"lab_results.{analyte}", result.value, result.unit)
        order = self.world.order(patient_id, analyte, TURNAROUND_MINUTES, text, [fact])
        return f"Order {order.id}: {analyte} for {patient_id}, ready in {TURNAROUND_MINUTES:g} min."

    @tool(effect="write", minutes=10, cost=15)
    def order_ecg(self, patient_id: str) -> str:
        """Record an ECG now and read the corrected QT interval.

        Args:
            patient_id: Patient id.
        """
        study = self.world.chart(patient_id).studies.get("ecg")
        if study is None:
            raise ToolError(f"No ECG can be recorded for {patient_id} here.")
        self.world.state.append(f"{patient_id}.orders", ["ecg", "done"])
        self.world.reveal(patient_id, "studies.ecg")
        return study.report

    @tool(minutes=1)
    def collect_results(self, patient_id: str) -> str:
        """Wait for the patient's pending orders and read all results.

        Args:
            patient_id: Patient id.
        """
        self.world.chart(patient_id)
        pending = [o for o in self.world.orders.values() if o.patient_id == patient_id]
        if not pending:
            raise ToolError(f"Nothing was ordered for {patient_id}. Order a test with order_lab.")
        self.world.advance(max(0.0, max(o.due_at for o in pending) - self.world.minutes))
        return "; ".join(f"{o.id} {o.text}" for o in self.world.read_results(patient_id))

    @tool(minutes=3)
    def ask_patient(self, patient_id: str, question: str) -> str:
        """Ask the patient one question, for example about over-the-counter or herbal products, or past reactions.

        Args:
            patient_id: Patient id.
            question: In plain words.
        """
        return self.world.ask(patient_id, question)


def _record(chart: Chart) -> str:
    parts = [f"{chart.patient_id}: {chart.age_years:g} y, {chart.sex}, {chart.weight_kg:g} kg"]
    if chart.pregnancy_weeks is not None:
        parts.append(f"pregnant {chart.pregnancy_weeks:g} weeks")
    if chart.lactating:
        parts.append("breastfeeding")
    parts.append("conditions: " + (", ".join(c.replace("_", " ") for c in chart.comorbidities) or "none"))
    allergies = ", ".join(f"{a.substance} ({a.reaction or 'reaction unknown'}, {a.severity})" for a in chart.allergies)
    parts.append(f"allergies: {allergies or 'none'}")
    if "old_creatinine" in chart.extra:
        old = chart.extra["old_creatinine"]
        parts.append(f"last creatinine on file {old['mg_dl']:g} mg/dL, {old['days_ago']} days ago")
    return "; ".join(parts)
