"""Tools that read a patient: chart, vital signs, questions, examination, records."""

from typing import Literal

from healthgym.knowledge_base import load
from healthgym.toolkit import Toolkit, tool
from healthgym.world import VitalSigns

from .lab_text import result_text

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
WHOLLY_NORMAL = frozenset(
    {
        "Clear chest.", "Clear apices.", "Equal air entry.", "Unlaboured breathing.", "Soft abdomen.", "Abdomen not tender.",
        "No rash.", "Normal skin.", "No abnormal pigment.", "Normal skin colour.", "Normal joints.", "Looks well.",
        "Warm and well perfused.", "No swelling.", "No tremor.", "Normal reflexes.",
    }
)  # fmt: skip
"""Words of a negative sign that call a whole region normal; not said beside something abnormal there."""
VITAL_UNITS = {
    "temperature_c": "C",
    "heart_rate_per_min": "/min",
    "respiratory_rate_per_min": "/min",
    "systolic_bp_mmhg": "mmHg",
    "diastolic_bp_mmhg": "mmHg",
    "spo2_percent": "%",
    "gcs": "",
    "pain_0_10": "",
}


def words(name: str) -> str:
    """Return an id as words."""
    return name.replace("_", " ")


def age_text(age_years: float) -> str:
    """Return an age as people say it."""
    return f"{age_years * 12:.0f} months" if age_years < 2 else f"{int(age_years)} years"


def vital_signs_line(vital_signs: VitalSigns) -> str:
    """Return vital signs on one line, in fixed order and units."""
    v = vital_signs
    return (
        f"T {v.temperature_c} C, HR {v.heart_rate_per_min}/min, RR {v.respiratory_rate_per_min}/min, "
        f"BP {v.systolic_bp_mmhg}/{v.diastolic_bp_mmhg} mmHg, SpO2 {v.spo2_percent} %, GCS {v.gcs}, pain {v.pain_0_10}"
    )


class ChartTools(Toolkit):
    """Reading a patient; every answer is short, and everything shown is recorded as seen."""

    @tool()
    def open_chart(self, patient_id: str) -> str:
        """Read the front sheet: age, sex, size, pregnancy, breastfeeding, opening words, results on file.

        Args:
            patient_id: For example P1.
        """
        chart, reveal = self.world.chart(patient_id), self.world.reveal
        reveal(patient_id, "age_years", chart.age_years, "years")
        reveal(patient_id, "sex", chart.sex)
        reveal(patient_id, "weight_kg", chart.weight_kg, "kg")
        reveal(patient_id, "chief_complaint", chart.chief_complaint)
        reveal(patient_id, "pregnancy_weeks", chart.pregnancy_weeks or 0, "weeks")
        state = f", {chart.pregnancy_weeks:g} weeks pregnant" if chart.pregnancy_weeks else ""
        state += ", breastfeeding" if chart.lactating else ""
        lines = [
            f"{patient_id}: {age_text(chart.age_years)}, {chart.sex}, {chart.weight_kg:g} kg, {chart.height_cm:g} cm{state}",
            f'Opening words: "{chart.chief_complaint}"',
        ]
        for name, text in chart.extra.get("on_file", {}).items():
            reveal(patient_id, f"on_file.{name}")
            lines.append(f"On file: {text}")
        return "\n".join(lines)

    @tool(minutes=2)
    def measure_vital_signs(self, patient_id: str) -> str:
        """Measure temperature, pulse, breathing, pressure, SpO2 on room air, GCS and pain (0-10).

        Args:
            patient_id: For example P1.
        """
        vital_signs = self.world.vital_signs(patient_id)
        for name, unit in VITAL_UNITS.items():
            self.world.reveal(patient_id, f"vital_signs.{name}", getattr(vital_signs, name), unit)
        return vital_signs_line(vital_signs)

    @tool(minutes=2)
    def ask_history(self, patient_id: str, question: str) -> str:
        """Ask the patient, or whoever came along, one question.

        Args:
            patient_id: For example P1.
            question: One question in plain words about one symptom.
        """
        chart = self.world.chart(patient_id)
        if OPENING_WORDS & {word.strip("?.,!'").lower() for word in question.split()}:
            self.world.reveal(patient_id, "chief_complaint", chart.chief_complaint)
            return chart.chief_complaint
        return self.world.ask(patient_id, question)

    @tool(minutes=3)
    def examine_system(self, patient_id: str, system: System) -> str:
        """Examine one body system.

        Args:
            patient_id: For example P1.
            system: Body system.
        """
        found = [f for f in self.world.chart(patient_id).findings if f.reveal == "examine" and f.system == system]
        if any(finding.present for finding in found):
            found = [finding for finding in found if finding.present or finding.text not in WHOLLY_NORMAL]
        for finding in found:
            self.world.reveal(patient_id, f"findings.{finding.id}", finding.present)
        texts = dict.fromkeys(finding.text for finding in sorted(found, key=lambda f: not f.present))
        return " ".join(texts) or f"{words(system).capitalize()}: nothing abnormal."

    @tool(minutes=1)
    def past_history(self, patient_id: str) -> str:
        """Read the long-standing illnesses on record.

        Args:
            patient_id: For example P1.
        """
        illnesses = ", ".join(words(name) for name in self.world.chart(patient_id).comorbidities) or "none"
        self.world.reveal(patient_id, "comorbidities", illnesses)
        return f"Illnesses: {illnesses}"

    @tool(minutes=1)
    def medication_list(self, patient_id: str) -> str:
        """Read the medicines the patient takes, with doses.

        Args:
            patient_id: For example P1.
        """
        chart = self.world.chart(patient_id)
        self.world.reveal(patient_id, "medications", ", ".join(m.drug for m in chart.medications) or "none")
        lines = [
            f"{words(m.drug)} {m.dose_mg:g} mg, {'when needed' if m.as_needed else f'{m.times_per_day:g} a day'}"
            for m in chart.medications
        ]
        return "Medicines: " + ("; ".join(lines) or "none")

    @tool(minutes=1)
    def allergy_record(self, patient_id: str) -> str:
        """Read recorded allergies and reactions.

        Args:
            patient_id: For example P1.
        """
        allergies = self.world.chart(patient_id).allergies
        self.world.reveal(patient_id, "allergies", ", ".join(a.substance for a in allergies) or "none")
        shown = ", ".join(f"{words(a.substance)} ({a.reaction or 'reaction unknown'})" for a in allergies)
        return f"Allergies: {shown or 'none'}"

    @tool(minutes=1)
    def earlier_results(self, patient_id: str) -> str:
        """Read results and reports of earlier visits, where there are any.

        Args:
            patient_id: For example P1.
        """
        chart, kb = self.world.chart(patient_id), load()
        lines = []
        for name, known in chart.extra.get("earlier", {}).items():
            if name in kb.studies:
                self.world.reveal(patient_id, f"studies.{name}")
                lines.append(f"{kb.studies[name].name}: {known}")
            else:
                self.world.reveal(patient_id, f"labs.{name}", known, kb.analytes[name].unit)
                lines.append(result_text(chart, name, known))
        return "\n".join(lines) or "No earlier results."
