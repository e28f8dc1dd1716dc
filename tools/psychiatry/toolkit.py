"""Everything a psychiatrist can do here: meet, read, look up, act, score, submit."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from healthgym.errors import ToolError
from healthgym.toolkit import tool

from ..evidence.toolkit import EvidenceToolkit
from ..scores.audit import audit
from ..scores.broset import broset
from ..scores.cage import cage
from ..scores.ciwa_ar import ciwa_ar
from ..scores.clozapine_anc import clozapine_anc
from ..scores.columbia_screen import cssrs_screen
from ..scores.confusion_assessment import cam
from ..scores.dast10 import dast10
from ..scores.decision_capacity import decision_capacity
from ..scores.epds import epds
from ..scores.gad7 import gad7
from ..scores.mini_mental import mini_mental
from ..scores.moca import moca
from ..scores.mood_disorder import mdq
from ..scores.pcl5 import pcl5
from ..scores.phq9 import phq9
from ..scores.ybocs import ybocs
from .interview_tools import InterviewTools
from .reference_tools import ReferenceTools

RiskLevel = Literal["none", "low", "moderate", "high"]


class ItemScore(BaseModel):
    """One item of an instrument."""

    model_config = ConfigDict(extra="forbid")

    item: Annotated[str, Field(max_length=60)]
    score: Annotated[int, Field(ge=0, le=10)]


class PsychiatryToolkit(InterviewTools, ReferenceTools):
    """Tools of psychiatry."""

    domain = "psychiatry"
    shared = (
        EvidenceToolkit,
        phq9, gad7, epds, audit, dast10, cage, ybocs, pcl5, mdq, cssrs_screen, mini_mental, moca, ciwa_ar, broset, cam,
        decision_capacity, clozapine_anc,
    )  # fmt: skip

    @tool(effect="submit")
    def submit_assessment(
        self,
        item_scores: Annotated[list[ItemScore], Field(max_length=30)] = [],  # noqa: B006 - pydantic copies defaults
        total: Annotated[int, Field(ge=0, le=100)] | None = None,
        category: str = "",
        risk_level: RiskLevel | None = None,
    ) -> str:
        """Submit the assessment and end; give the fields that the task names.

        Args:
            item_scores: Item and score, items named as in instrument_guide.
            total: Total of the instrument.
            category: Category as the scoring tool names it.
            risk_level: Level of risk.
        """
        names = [entry.item for entry in item_scores]
        if len(set(names)) < len(names):
            raise ToolError("item_scores names an item twice; give each once.")
        return "submitted"
