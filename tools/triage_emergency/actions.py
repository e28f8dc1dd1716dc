"""Tools that change something: interventions, medicines, protocols, beds, levels. Harm is judged afterwards, not refused."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.knowledge_base.schema import Disposition
from healthgym.toolkit import Toolkit, tool

from .safety import known_drug

CalledProtocol = Literal["stroke", "stemi", "sepsis", "trauma", "anaphylaxis"]
Intervention = Literal[
    "oxygen", "bag_mask_ventilation", "airway_opening", "iv_access", "fluid_bolus", "chest_decompression",
    "direct_pressure", "cardiac_monitor", "spinal_precautions", "defibrillation_pads", "splint", "isolation",
]  # fmt: skip
BEDS: dict[str, int] = {"resuscitation": 2, "acute_bed": 4, "fast_track": 4}
"""Beds of each area when the chart says nothing else; waiting room and discharge have no limit."""


class ActionTools(Toolkit):
    """Acting on a patient; what was done stays on the chart."""

    @tool(effect="write", minutes=1)
    def activate_protocol(self, patient_id: str, protocol: CalledProtocol) -> str:
        """Call the team of a time-critical protocol.

        Args:
            patient_id: For example P1.
            protocol: Which team.
        """
        self.world.chart(patient_id)
        path = f"{patient_id}.protocol"
        called = {*str(self.world.state.get(path) or "").split("+"), protocol} - {""}
        self.world.state.set(path, "+".join(sorted(called)))
        return f"{protocol} team called for {patient_id}"

    @tool(effect="write", minutes=1)
    def start_intervention(self, patient_id: str, intervention: Intervention) -> str:
        """Start a bedside intervention.

        Args:
            patient_id: For example P1.
            intervention: What to start.
        """
        self.world.chart(patient_id)
        self.world.state.append(f"{patient_id}.interventions", intervention)
        return f"{intervention} started for {patient_id}"

    @tool(effect="write", minutes=1)
    def give_medication(self, patient_id: str, drug: str) -> str:
        """Give the usual first dose of a medicine for weight and age.

        Args:
            patient_id: For example P1.
            drug: Generic name, for example paracetamol.
        """
        name = known_drug(drug)
        self.world.chart(patient_id)
        given = {*str(self.world.state.get(f"{patient_id}.given") or "").split("+"), name} - {""}
        self.world.state.set(f"{patient_id}.given", "+".join(sorted(given)))
        self.world.state.append(f"{patient_id}.doses", name)
        return f"{name} given to {patient_id}"

    @tool()
    def bed_board(self) -> str:
        """Show how many beds are free in each area."""
        free = {area: self._free(area) for area in BEDS}
        return ", ".join(f"{area} {count} free" for area, count in free.items())

    @tool(effect="write", minutes=1)
    def assign_bed(self, patient_id: str, area: Disposition) -> str:
        """Move a patient to an area; a full area refuses.

        Args:
            patient_id: For example P1.
            area: Where to.
        """
        self.world.chart(patient_id)
        path = f"{patient_id}.bed"
        if area in BEDS and self.world.state.get(path) != area and self._free(area) < 1:
            raise ToolError(f"No free bed in {area}. Look at bed_board; move somebody or choose another area.")
        self.world.state.set(path, area)
        return f"{patient_id} to {area}"

    @tool(effect="write")
    def assign_esi(self, patient_id: str, level: Annotated[int, Field(ge=1, le=5)]) -> str:
        """Record a patient's ESI level; a later one replaces it.

        Args:
            patient_id: For example P1.
            level: 1 (now) to 5 (can wait).
        """
        self.world.chart(patient_id)
        self.world.state.set(f"{patient_id}.esi_level", level)
        return f"{patient_id} ESI {level}"

    @tool(effect="write", minutes=3)
    def call_senior(self, patient_id: str, concern: str) -> str:
        """Ask a senior doctor to come to a patient.

        Args:
            patient_id: For example P1.
            concern: Your concern in a few words.
        """
        self.world.chart(patient_id)
        self.world.state.append(f"{patient_id}.senior", concern[:200])
        return f"senior will see {patient_id} within 10 minutes; go on with triage"

    def _free(self, area: str) -> int:
        beds = next(iter(self.world.charts.values())).extra.get("beds_free", BEDS)
        taken = sum(self.world.state.get(f"{patient}.bed") == area for patient in self.world.charts)
        return int(beds.get(area, BEDS.get(area, 0))) - taken
