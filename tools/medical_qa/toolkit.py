"""The tools of medical_qa: evidence, look-ups, working, and the typed answer that ends an episode."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.toolkit import tool

from ..evidence.toolkit import EvidenceToolkit
from ..scores.renal import cockcroft_gault
from .lookup_tools import LookupTools
from .working_tools import WorkingTools

Letter = Literal["A", "B", "C", "D", "E", "F", "G", "H"]


class MedicalQaToolkit(LookupTools, WorkingTools):
    """Every tool of the domain."""

    domain = "medical_qa"
    shared = (EvidenceToolkit, cockcroft_gault)

    @tool(effect="submit")
    def submit_answer(
        self,
        choice: Letter | None = None,
        choices: Annotated[list[Letter], Field(max_length=8)] | None = None,
        number: Annotated[float, Field(ge=-1e6, le=1e6)] | None = None,
        unit: Annotated[str, Field(max_length=20)] | None = None,
        term: Annotated[str, Field(max_length=80)] | None = None,
        code: Annotated[str, Field(max_length=10)] | None = None,
        severity: Literal["minor", "moderate", "major", "contraindicated"] | None = None,
        not_stated: bool = False,
    ) -> str:
        """Answer and end. Give what the question asks for, nothing else.

        Args:
            choice: The one right letter.
            choices: All right letters; an empty list when none is right.
            number: A numeric answer.
            unit: Its unit, as the evidence writes it.
            term: A short answer in words, for example sepsis.
            code: An ICD-10 code.
            severity: Of an interaction.
            not_stated: True when the evidence says nothing about what is asked.
        """
        given = (choice, choices, number, term, code, severity)
        if all(value is None for value in given) and not not_stated:
            raise ToolError(
                "The answer is empty. Give choice, choices, number, term, code or severity, or set not_stated."
            )
        if not_stated and any(value is not None for value in given):
            raise ToolError(
                "not_stated says that there is no answer, yet one is given. Give the answer or set not_stated."
            )
        return "Answer submitted."
