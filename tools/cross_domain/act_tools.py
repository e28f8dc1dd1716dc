"""Tools that act: drugs, treatments, consults, handover notes, transfers. Harm is judged afterwards, not refused."""

from typing import Annotated, Any

from pydantic import Field

from healthgym.errors import ToolError, nearest
from healthgym.toolkit import tool

from .look_tools import LookTools
from .schema import Service, Specialty, Unit


class ActTools(LookTools):
    """Acting in the service the patient is in; what another service does is refused."""

    @tool(effect="write", minutes=2)
    def give_drug(
        self, patient_id: str, drug: str, amount: Annotated[float, Field(gt=0, le=100_000)], unit: Unit
    ) -> str:
        """Prescribe and give a drug, fluid or blood product: the first dose, or an infusion at a rate.

        Args:
            patient_id: For example P1.
            drug: Id as in dose_guide, for example aspirin.
            amount: Amount, worked out for this patient.
            unit: Unit of the amount.
        """
        pathway, here = self.pathway(patient_id), self.service(patient_id)
        rules = [rule for rule in pathway.doses.values() if rule.drug == drug.strip().lower()]
        if not rules:
            known = sorted({rule.drug for rule in pathway.doses.values()})
            raise ToolError(
                f"No drug {drug[:60]!r} in this formulary.{nearest(drug[:60], known)} Known: {', '.join(known)}."
            )
        units = sorted({rule.unit for rule in rules})
        if unit not in units:
            raise ToolError(f"{rules[0].drug} is ordered in {' or '.join(units)} here, got {unit}. Convert the amount.")
        places = {place for rule in rules for place in rule.at}
        if all(rule.at for rule in rules) and here not in places:
            raise ToolError(f"{rules[0].drug} is given in {', '.join(sorted(places))}; the patient is in {here}.")
        path = f"{patient_id}.doses.{rules[0].drug}"
        self.world.state.set(path, round(float(self.world.state.get(path) or 0) + amount, 4))
        self._act(patient_id, "give_drug", rules[0].drug)
        return f"minute {self.world.minutes:g}: {rules[0].drug} {amount:g} {unit} given"

    @tool(effect="write", minutes=2)
    def start_treatment(self, patient_id: str, treatment: str) -> str:
        """Start or do something that is not a drug: a procedure, monitoring, a precaution.

        Args:
            patient_id: For example P1.
            treatment: Id as in pathway_guide, for example cardiac_monitor.
        """
        pathway, here, name = self.pathway(patient_id), self.service(patient_id), treatment.strip().lower()
        known = pathway.treatments
        if name not in known:
            raise ToolError(
                f"No treatment {treatment[:60]!r} here.{nearest(name[:60], known)} Known: {', '.join(known)}."
            )
        if known[name].at and here not in known[name].at:
            raise ToolError(f"{name} is done in {', '.join(known[name].at)}; the patient is in {here}. Transfer first.")
        self.world.state.set(f"{patient_id}.started.{name}", True)
        self._act(patient_id, "start_treatment", name)
        report = self.world.chart(patient_id).extra.get("reports", {}).get(name)
        if report:
            self.world.reveal(patient_id, f"reports.{name}")
        return f"minute {self.world.minutes:g}: {known[name].name} done or under way" + (
            f". {report}" if report else ""
        )

    @tool(effect="write", minutes=5)
    def consult(self, patient_id: str, specialty: Specialty, question: str) -> str:
        """Call a specialist and get advice.

        Args:
            patient_id: For example P1.
            specialty: Whom to call.
            question: What you ask, in a sentence.
        """
        advice = self.pathway(patient_id).consults.get(specialty)
        if advice is None:
            known = ", ".join(self.pathway(patient_id).consults)
            raise ToolError(f"{specialty} has no part in this pathway. Known: {known}.")
        self.world.state.set(f"{patient_id}.consulted.{specialty}", question[:200] or "asked")
        return f"{specialty}: {advice}"

    @tool(effect="write", minutes=3)
    def write_handover(self, patient_id: str, to: Service, note: Annotated[str, Field(max_length=2000)]) -> str:
        """Write the handover note for the next service; a later one replaces it. At most 120 words.

        Args:
            patient_id: For example P1.
            to: Service that takes over.
            note: What the next service must know; see handover_template.
        """
        self.world.chart(patient_id)
        self.world.state.set(f"{patient_id}.handover.{to}", note)
        return f"handover to {to} filed, {len(note.split())} words"

    @tool(effect="write", minutes=5)
    def transfer(self, patient_id: str, to: Service) -> str:
        """Move the patient to another service of the pathway; you then act for that service.

        Args:
            patient_id: For example P1.
            to: Service that takes over.
        """
        pathway, here = self.pathway(patient_id), self.service(patient_id)
        if to not in pathway.services:
            raise ToolError(f"{to} takes no part in this pathway. Known: {', '.join(pathway.services)}.")
        if to == here:
            raise ToolError(f"{patient_id} is in {here} already.")
        path = f"{patient_id}.route"
        self.world.state.set(path, f"{self.world.state.get(path) or here} > {to}")
        self.world.state.set(f"{patient_id}.service", to)
        return f"minute {self.world.minutes + 5:g}, {to}: {pathway.services[to]}"

    def _act(self, patient_id: str, tool_name: str, item: str) -> None:
        """Let a drug or treatment act on vital signs and laboratory values after its delay."""
        state, now = self.world.state, self.world.minutes
        effects: list[dict[str, Any]] = self.world.chart(patient_id).extra.get("effects", [])
        for effect in effects:
            if (effect["tool"], effect["item"]) == (tool_name, item):
                if effect["vital_signs"]:
                    self.world.change_vital_signs(patient_id, after_minutes=effect["after"], **effect["vital_signs"])
                for analyte, value in effect["labs"].items():
                    state.append(f"{patient_id}.lab_changes", [now + effect["after"], analyte, value])
