"""Tools that write what is no medicine: notes, tests, follow-up, discharge, codes."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.knowledge_base import load
from healthgym.toolkit import Toolkit, tool

from .record import values

NoteKind = Literal["progress_note", "addendum", "discharge_summary", "medication_note"]
Service = Literal[
    "primary_care", "cardiology", "nephrology", "respiratory", "gastroenterology", "diabetes", "surgery", "neurology"
]
Destination = Literal["home", "home_with_services", "rehabilitation", "nursing_home"]


class ActingTools(Toolkit):
    """Everything else that changes the chart."""

    @tool(effect="write", minutes=5)
    def write_note(
        self, patient_id: str, kind: NoteKind, text: Annotated[str, Field(min_length=10, max_length=3000)]
    ) -> str:
        """Write a note into the record; a later one of the same kind replaces it.

        Args:
            patient_id: Patient id.
            kind: What it is.
            text: The note.
        """
        self.world.chart(patient_id)
        self.world.state.set(f"{patient_id}.note.{kind}", text)
        return f"{kind.replace('_', ' ')} of {len(text.split())} words filed for {patient_id}"

    @tool(effect="write", minutes=1, cost=5)
    def order_test(self, patient_id: str, analyte: str) -> str:
        """Order a blood test; the result arrives after its turnaround.

        Args:
            patient_id: Patient id.
            analyte: For example creatinine.
        """
        chart, name = self.world.chart(patient_id), analyte.strip().lower().replace(" ", "_")
        known = values(chart, name)
        kind = load().analytes.get(name)
        if not known or kind is None:
            raise ToolError(f"{analyte[:40]!r} cannot be ordered here; order what was measured before in this stay.")
        value, unit = known[-1]["value"], known[-1]["unit"]
        minutes = kind.turnaround_minutes
        facts = [(f"ordered.{name}", value, unit)]
        order = self.world.order(patient_id, name, minutes, f"{name} {value:g} {unit}", facts)
        return f"Order {order.id}: {name} for {patient_id}, ready in {minutes:g} min."

    @tool(effect="write", minutes=1)
    def book_follow_up(
        self, patient_id: str, service: Service, within_days: Annotated[int, Field(ge=1, le=180)]
    ) -> str:
        """Book a visit after discharge.

        Args:
            patient_id: Patient id.
            service: With whom.
            within_days: At most so many days after discharge.
        """
        self.world.chart(patient_id)
        earlier = self.world.state.get(f"{patient_id}.follow_up_days")
        soonest = within_days if earlier is None else min(int(earlier), within_days)
        self.world.state.set(f"{patient_id}.follow_up.{service}", within_days)
        self.world.state.set(f"{patient_id}.follow_up_days", soonest)
        return f"{patient_id}: {service.replace('_', ' ')} within {within_days} days"

    @tool(effect="write", minutes=5)
    def discharge(self, patient_id: str, destination: Destination) -> str:
        """Discharge the patient from hospital.

        Args:
            patient_id: Patient id.
            destination: Where to.
        """
        self.world.chart(patient_id)
        self.world.state.set(f"{patient_id}.discharged", destination)
        return f"{patient_id} discharged: {destination.replace('_', ' ')}"

    @tool(effect="write", minutes=1)
    def call_clinician(self, patient_id: str, concern: Annotated[str, Field(min_length=3, max_length=300)]) -> str:
        """Ask the responsible doctor to come to the bedside.

        Args:
            patient_id: Patient id.
            concern: What worries you, in a few words.
        """
        self.world.chart(patient_id)
        self.world.state.set(f"{patient_id}.called", concern)
        return f"the responsible doctor of {patient_id} was told: {concern}"
