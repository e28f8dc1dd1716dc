"""Tools that change the chart: stop, change a dose, substitute, monitor."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.knowledge_base.pharmacology import duplications
from healthgym.toolkit import Toolkit, tool

from .knowledge import known_drug, pair_key, starting_dose
from .regimen import current, taken_entry

Parameter = Literal[
    "inr", "hemoglobin", "potassium", "sodium", "creatinine", "glucose", "tsh", "alt", "ck", "ecg", "heart_rate",
    "blood_pressure", "digoxin_level", "lithium_level", "phenytoin_level", "ciclosporin_level", "drug_level", "wbc",
    "platelets", "magnesium", "peak_flow", "bleeding_signs", "sedation", "withdrawal_signs", "seizure_control",
]  # fmt: skip
"""What can be put on a monitoring plan."""


class ChangeTools(Toolkit):
    """Write actions on the regimen; what they did stays on the chart and is judged."""

    @tool(effect="write", minutes=2)
    def stop_drug(self, patient_id: str, drug: str, taper: bool = False) -> str:
        """Stop a medicine the patient takes, prescribed or bought.

        Args:
            patient_id: Patient id.
            drug: Medicine to stop.
            taper: True to reduce it stepwise instead of stopping at once.
        """
        name = known_drug(drug)
        taken_entry(self.world, patient_id, name)
        self.world.state.set(f"{patient_id}.regimen.{name}", "stopped")
        self.world.state.set(f"{patient_id}.taper.{name}", taper)
        self._count_duplicates(patient_id)
        return f"{name} {'tapered off' if taper else 'stopped'} for {patient_id}."

    @tool(effect="write", minutes=2)
    def change_dose(
        self,
        patient_id: str,
        drug: str,
        dose_mg: Annotated[float, Field(gt=0, le=10_000)],
        times_per_day: Annotated[float, Field(gt=0, le=6)],
    ) -> str:
        """Set a new dose for a medicine the patient takes.

        Args:
            patient_id: Patient id.
            drug: Medicine.
            dose_mg: Single dose in mg.
            times_per_day: Doses a day; 0.5 is every other day.
        """
        name = known_drug(drug)
        before = taken_entry(self.world, patient_id, name)
        daily = round(dose_mg * times_per_day, 3)
        if daily == before.daily_mg:
            raise ToolError(f"{name} already is {daily:g} mg/day; give the dose to change to.")
        dose = {"dose_mg": dose_mg, "times_per_day": times_per_day}
        self.world.state.set(f"{patient_id}.regimen.{name}", dose)
        self.world.state.set(f"{patient_id}.daily_mg.{name}", daily)
        return f"{name} for {patient_id}: {before.daily_mg:g} to {daily:g} mg/day."

    @tool(effect="write", minutes=3)
    def substitute_drug(self, patient_id: str, drug: str, new_drug: str) -> str:
        """Replace a medicine by another one at its usual starting dose.

        Args:
            patient_id: Patient id.
            drug: Medicine to stop.
            new_drug: Medicine to start instead.
        """
        old, new = known_drug(drug), known_drug(new_drug)
        before = taken_entry(self.world, patient_id, old)
        if new in current(self.world, patient_id):
            raise ToolError(f"{patient_id} already takes {new}; name a medicine that is not on the list.")
        dose_mg, times_per_day = starting_dose(new)
        self.world.state.set(f"{patient_id}.regimen.{old}", "stopped")
        self.world.state.set(f"{patient_id}.regimen.{new}", {"dose_mg": dose_mg, "times_per_day": times_per_day})
        self.world.state.set(f"{patient_id}.replaced.{old}", new)
        self._count_duplicates(patient_id)
        purpose = f" for {before.indication.replace('_', ' ')}" if before.indication else ""
        return f"{patient_id}: {old} stopped, {new} {dose_mg:g} mg x{times_per_day:g}/day started{purpose}."

    @tool(effect="write", minutes=1)
    def add_monitoring(
        self, patient_id: str, parameter: Parameter, every_days: Annotated[int, Field(ge=1, le=365)]
    ) -> str:
        """Put a check on the patient's monitoring plan.

        Args:
            patient_id: Patient id.
            parameter: What to check.
            every_days: Days between checks.
        """
        self.world.chart(patient_id)
        self.world.state.set(f"{patient_id}.monitoring.{parameter}", every_days)
        return f"{patient_id}: {parameter} every {every_days} days."

    @tool(effect="write", minutes=1)
    def separate_doses(
        self, patient_id: str, drug_a: str, drug_b: str, hours: Annotated[float, Field(ge=0.5, le=12)]
    ) -> str:
        """Give two medicines at different times of the day.

        Args:
            patient_id: Patient id.
            drug_a: One medicine, for example levothyroxine.
            drug_b: The other, for example calcium_carbonate.
            hours: Hours between them.
        """
        a, b = known_drug(drug_a), known_drug(drug_b)
        for name in (a, b):
            taken_entry(self.world, patient_id, name)
        if a == b:
            raise ToolError(f"Both names mean {a}; give two different drugs.")
        self.world.state.set(f"{patient_id}.separated.{pair_key(a, b)}", hours)
        return f"{patient_id}: {a} and {b} {hours:g} h apart."

    def _count_duplicates(self, patient_id: str) -> None:
        """Keep on the chart how many classes are taken twice, so that either of two duplicates may be stopped."""
        left = duplications(current(self.world, patient_id))
        self.world.state.set(f"{patient_id}.duplications", len(left))
