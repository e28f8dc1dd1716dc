"""Tools that act: drugs, measures, teams, anti-D."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from healthgym.errors import NotRegistered, ToolError, nearest
from healthgym.knowledge_base.pharmacology import find_drug
from healthgym.toolkit import Toolkit, tool

from .chart_tools import is_fetus
from .tables import table

Team = Literal["haemorrhage_team", "emergency_caesarean", "neonatal_team"]


def known_drug(name: str) -> str:
    """Return the id of a drug. Raises ToolError, offering the nearest, when there is none."""
    try:
        return find_drug(name).id
    except NotRegistered as error:
        raise ToolError(str(error)) from None


Drug = Annotated[str, AfterValidator(known_drug)]
"""A drug by any of its names; the record keeps its id, so that hazards see it under every name."""


class ActionTools(Toolkit):
    """Changing what is done for mother, fetus and newborn."""

    @tool(effect="write", minutes=2)
    def give_drug(self, patient_id: str, drug: Drug) -> str:
        """Give or prescribe a drug in its usual dose.

        Args:
            patient_id: The mother, for example P1.
            drug: For example labetalol.
        """
        if is_fetus(self.world.chart(patient_id)):
            raise ToolError(f"Drugs are given to the mother, not to {patient_id}.")
        if drug in self.world.state.get(f"{patient_id}.given", ()):
            raise ToolError(f"{drug} has been given already; do not repeat it.")
        self.world.state.append(f"{patient_id}.given", drug)
        return f"{drug} given"

    @tool(effect="write", minutes=1)
    def stop_drug(self, patient_id: str, drug: Drug) -> str:
        """Stop a drug that she takes or that runs.

        Args:
            patient_id: The mother, for example P1.
            drug: For example oxytocin.
        """
        running = [m.drug for m in self.world.chart(patient_id).medications]
        if drug not in running:
            raise ToolError(f"{patient_id} does not get {drug}. Known: {', '.join(running) or 'no drug'}.")
        if drug in self.world.state.get(f"{patient_id}.stopped", ()):
            raise ToolError(f"{drug} has been stopped already.")
        self.world.state.append(f"{patient_id}.stopped", drug)
        return f"{drug} stopped"

    @tool(effect="write", minutes=1)
    def give_anti_d(self, patient_id: str, dose_ug: Annotated[int, Field(ge=50, le=3000)]) -> str:
        """Give anti-D immune globulin.

        Args:
            patient_id: The mother, for example P1.
            dose_ug: Dose in micrograms.
        """
        if is_fetus(self.world.chart(patient_id)):
            raise ToolError(f"Anti-D is given to the mother, not to {patient_id}.")
        self.world.state.set(f"{patient_id}.anti_d_ug", dose_ug)
        return f"anti-D {dose_ug} ug given"

    @tool(effect="write", minutes=0.5)
    def start_measure(self, patient_id: str, measure: str) -> str:
        """Do something at the bedside.

        Args:
            patient_id: Mother, or newborn for ventilation and compressions.
            measure: For example uterine_massage, intrauterine_resuscitation, positive_pressure_ventilation.
        """
        chart, measures = self.world.chart(patient_id), table("measures")
        row = measures.get(measure.strip().lower().replace(" ", "_"))
        if row is None:
            raise ToolError(f"No measure {measure[:40]!r}.{nearest(measure[:40], measures)}")
        if (row["whom"] == "newborn") != is_fetus(chart):
            raise ToolError(f"{row['id']} is done on the {row['whom']}; {patient_id} is not.")
        if row["id"] in self.world.state.get(f"{patient_id}.measures", ()):
            raise ToolError(f"{row['id']} is under way already.")
        self.world.state.append(f"{patient_id}.measures", row["id"])
        return f"{row['id']}: {row['does']}"

    @tool(effect="write", minutes=1)
    def call_team(self, patient_id: str, team: Team) -> str:
        """Call a team to the bedside.

        Args:
            patient_id: The mother, for example P1.
            team: Which team.
        """
        if is_fetus(self.world.chart(patient_id)):
            raise ToolError(f"Teams are called to the mother, not to {patient_id}.")
        if team in self.world.state.get(f"{patient_id}.teams", ()):
            raise ToolError(f"{team} is on its way already.")
        self.world.state.append(f"{patient_id}.teams", team)
        return f"{team} called"
