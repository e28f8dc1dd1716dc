"""What an agent can do with an imported consultation."""

from typing import Annotated

from pydantic import AfterValidator

from healthgym.errors import ToolError
from healthgym.imports.agentclinic.matching import Item, items_of, meant
from healthgym.imports.agentclinic.play import exam_parts
from healthgym.imports.names import normal_name
from healthgym.toolkit import Toolkit, tool


def _normal(text: str) -> str:
    name = normal_name(text)
    if not name:
        raise ValueError("a diagnosis needs at least one word")
    return name


DiagnosisName = Annotated[str, AfterValidator(_normal)]
"""Kept in one spelling, so that the record compares names and not their punctuation."""


class CaseToolkit(Toolkit):
    """Ask, examine, order, submit."""

    @tool(minutes=2)
    def ask_patient(self, patient_id: str, question: str) -> str:
        """Ask the patient one question.

        Args:
            patient_id: For example P1.
            question: In plain words.
        """
        return self.world.ask(patient_id, question)

    @tool(minutes=3)
    def examine(self, patient_id: str, part: str) -> str:
        """Examine one part of the body or one group of signs.

        Args:
            patient_id: For example P1.
            part: For example vital signs.
        """
        exam = self.world.chart(patient_id).extra["exam"]
        item = meant(part, items_of(exam), groups_too=True, kind="part of the examination")
        if item is None:
            parts = ", ".join(exam_parts(exam)) or "nothing"
            raise ToolError(f"Nothing of note is recorded for {part[:60]!r}. The examination covers: {parts}.")
        return self._show(patient_id, "exam", item)

    @tool(minutes=20, cost=10)
    def order_test(self, patient_id: str, test: str) -> str:
        """Order one test or image and read its result.

        Args:
            patient_id: For example P1.
            test: By its usual name, for example complete blood count.
        """
        tests = self.world.chart(patient_id).extra["tests"]
        item = meant(test, items_of(tests), groups_too=False, kind="test")
        if item is None:
            raise ToolError(f"There is no result for {test[:60]!r}: it was not done in this case. Order another test.")
        return self._show(patient_id, "tests", item)

    @tool(effect="submit")
    def submit_diagnosis(self, diagnosis: DiagnosisName) -> str:
        """Submit the one diagnosis and end.

        Args:
            diagnosis: Its usual full name.
        """
        return f"Submitted: {diagnosis}."

    def _show(self, patient_id: str, part: str, item: Item) -> str:
        for leaf in item.leaves:
            self.world.reveal(patient_id, f"{part}.{leaf}")
        return f"{item.name}: {item.text}."
