"""What an agent can do in diabetes_clinic: each tool is one short method."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import Toolkit, tool

Medicine = Literal["metformin", "basal_insulin"]
Decision = Literal["start", "increase", "continue", "reduce", "stop", "do_not_start"]


class DiabetesClinicToolkit(Toolkit):
    """Tools of diabetes_clinic."""

    domain = "diabetes_clinic"

    @tool(effect="read", minutes=2)
    def read_diary(self, patient_id: str) -> str:
        """Read the patient's diary of fasting glucose.

        Args:
            patient_id: For example P1.
        """
        readings = self.world.chart(patient_id).extra["fasting_glucose_mg_dl"]
        self.world.reveal(patient_id, "diary", ", ".join(map(str, readings)), "mg/dL")
        return f"Fasting glucose, last mornings: {', '.join(map(str, readings))} mg/dL."

    @tool(effect="read", minutes=15, cost=10)
    def measure_lab(self, patient_id: str, analyte: Literal["hba1c", "creatinine"]) -> str:
        """Measure one analyte in blood; creatinine comes with eGFR.

        Args:
            patient_id: For example P1.
            analyte: What to measure.
        """
        results = self.world.chart(patient_id).lab_results
        names = ("creatinine", "egfr") if analyte == "creatinine" else (analyte,)
        for name in names:
            self.world.reveal(patient_id, f"labs.{name}", results[name].value, results[name].unit)
        return ", ".join(f"{name} {results[name].value} {results[name].unit}" for name in names) + "."

    @tool(effect="read", minutes=2)
    def ask_patient(self, patient_id: str, question: str) -> str:
        """Ask the patient one question.

        Args:
            patient_id: For example P1.
            question: In plain words.
        """
        return self.world.ask(patient_id, question)

    @tool(effect="write", minutes=1)
    def set_dose(self, patient_id: str, medicine: Medicine, daily_dose: Annotated[float, Field(ge=0, le=3000)]) -> str:
        """Write the daily dose from now on; 0 for none.

        Args:
            patient_id: For example P1.
            medicine: Whose dose.
            daily_dose: Metformin in mg, basal insulin in units.
        """
        self.world.chart(patient_id)
        self.world.state.set(f"{patient_id}.dose.{medicine}", daily_dose)
        return (
            f"{patient_id}: {medicine} {daily_dose:g} {'mg' if medicine == 'metformin' else 'units'} a day from now on."
        )

    @tool(effect="submit")
    def submit_plan(self, decision: Decision) -> str:
        """Say what was decided about the medicine and end.

        Args:
            decision: What the new dose means.
        """
        return f"Submitted: {decision}."
