"""Tools that change something. Harm is judged afterwards, not refused."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.toolkit import Toolkit, tool

from ..evidence.monograph import known_drug

Observation = Literal["one_to_one", "every_15_minutes", "hourly"]
Route = Literal["oral", "intramuscular", "intravenous"]
Text = Annotated[str, Field(min_length=2, max_length=300)]


class ActionTools(Toolkit):
    """Acting for a patient; what was done stays on the chart."""

    @tool(effect="write", minutes=1)
    def set_observation(self, patient_id: str, level: Observation) -> str:
        """Set how closely staff watch a patient; one_to_one means never alone.

        Args:
            patient_id: For example P1.
            level: How closely.
        """
        self.world.chart(patient_id)
        self.world.state.set(f"{patient_id}.observation", level)
        return f"{patient_id}: observation {level}"

    @tool(effect="write", minutes=15)
    def write_safety_plan(
        self, patient_id: str, warning_signs: Text, coping: Text, people: Text, professionals: Text, safe_place: Text
    ) -> str:
        """Write the safety plan together with the patient, in the patient's own terms.

        Args:
            patient_id: For example P1.
            warning_signs: How the patient notices a crisis coming.
            coping: What the patient can do alone.
            people: Whom the patient can turn to.
            professionals: Whom to call, for example the crisis line.
            safe_place: How the surroundings are made safe.
        """
        self.world.chart(patient_id)
        plan = ". ".join(
            part.strip().rstrip(".") for part in (warning_signs, coping, people, professionals, safe_place)
        )
        self.world.state.set(f"{patient_id}.safety_plan", plan)
        return f"safety plan of {patient_id} written, {len(plan.split())} words"

    @tool(effect="write", minutes=1)
    def give_dose(self, patient_id: str, drug: str, route: Route = "oral") -> str:
        """Give one usual dose of a medicine now.

        Args:
            patient_id: For example P1.
            drug: Generic name, for example lorazepam.
            route: How.
        """
        name = known_drug(drug).id
        self.world.chart(patient_id)
        self.world.state.append(f"{patient_id}.dose_log", [self.world.minutes, name])
        given = sorted(entry for _, entry in self.world.state.get(f"{patient_id}.dose_log"))
        self.world.state.set(f"{patient_id}.doses", "+".join(given))
        self.world.state.set(f"{patient_id}.last_route", route)
        return f"minute {self.world.minutes:g}: {name} given, {route}"

    @tool(effect="write", minutes=1)
    def give_thiamine(self, patient_id: str, route: Literal["oral", "parenteral"]) -> str:
        """Give thiamine.

        Args:
            patient_id: For example P1.
            route: By mouth, or into muscle or vein.
        """
        self.world.chart(patient_id)
        self.world.state.set(f"{patient_id}.thiamine", route)
        return f"thiamine given, {route}"

    @tool(effect="write", minutes=2)
    def prescribe(self, patient_id: str, drug: str, start_in_days: Annotated[int, Field(ge=0, le=60)] = 0) -> str:
        """Prescribe a regular medicine at its usual starting dose.

        Args:
            patient_id: For example P1.
            drug: Generic name, for example sertraline.
            start_in_days: Days from today to the first dose.
        """
        name = known_drug(drug).id
        chart = self.world.chart(patient_id)
        if any(medicine.drug == name for medicine in chart.medications):
            raise ToolError(f"{patient_id} takes {name} already. Choose another, or stop it first.")
        prescribed = {*str(self.world.state.get(f"{patient_id}.prescribed") or "").split("+"), name} - {""}
        self.world.state.set(f"{patient_id}.prescribed", "+".join(sorted(prescribed)))
        self.world.state.set(f"{patient_id}.start_in_days", start_in_days)
        return f"{name} prescribed for {patient_id}, first dose in {start_in_days} days"

    @tool(effect="write", minutes=1)
    def stop_medicine(self, patient_id: str, drug: str) -> str:
        """Stop a medicine the patient takes, bought ones included.

        Args:
            patient_id: For example P1.
            drug: Generic name, for example ibuprofen.
        """
        name = known_drug(drug).id
        chart = self.world.chart(patient_id)
        taken = {medicine.drug for medicine in chart.medications} | set(chart.extra.get("bought", ()))
        if name not in taken:
            raise ToolError(f"{patient_id} does not take {name}.")
        stopped = {*str(self.world.state.get(f"{patient_id}.stopped") or "").split("+"), name} - {""}
        self.world.state.set(f"{patient_id}.stopped", "+".join(sorted(stopped)))
        return f"{name} stopped for {patient_id}"

    @tool(effect="write", minutes=10)
    def de_escalate(self, patient_id: str) -> str:
        """Talk a tense patient down: quiet place, one speaker, choices, something by mouth offered.

        Args:
            patient_id: For example P1.
        """
        self.world.chart(patient_id)
        self.world.state.set(f"{patient_id}.de_escalated", True)
        return f"minute {self.world.minutes:g}: de-escalation tried with {patient_id}"
