"""Everything a psychiatrist can do here: meet, read, look up, act, score, submit."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from healthgym.errors import ToolError, nearest
from healthgym.toolkit import tool

from ..evidence.monograph import known_drug
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
from ..scores.renal import cockcroft_gault
from ..scores.ybocs import ybocs
from .action_tools import ActionTools
from .interview_tools import Ability, InterviewTools
from .record_tools import RecordTools
from .reference_tools import ReferenceTools
from .tables import table

RiskLevel = Literal["none", "low", "moderate", "high"]
Disposition = Literal["home", "outpatient_referral", "same_day_assessment", "admission_assessment"]


class ItemScore(BaseModel):
    """One item of an instrument."""

    model_config = ConfigDict(extra="forbid")

    item: Annotated[str, Field(max_length=60)]
    score: Annotated[int, Field(ge=0, le=10)]


class PsychiatryToolkit(InterviewTools, RecordTools, ReferenceTools, ActionTools):
    """Tools of psychiatry."""

    domain = "psychiatry"
    shared = (
        EvidenceToolkit,
        phq9, gad7, epds, audit, dast10, cage, ybocs, pcl5, mdq, cssrs_screen, mini_mental, moca, ciwa_ar, broset, cam,
        decision_capacity, clozapine_anc, cockcroft_gault,
    )  # fmt: skip

    @tool(effect="submit")
    def submit_assessment(
        self,
        item_scores: Annotated[list[ItemScore], Field(max_length=30)] = [],  # noqa: B006 - pydantic copies defaults
        total: Annotated[int, Field(ge=0, le=100)] | None = None,
        category: str = "",
        risk_level: RiskLevel | None = None,
        disposition: Disposition | None = None,
        second_total: Annotated[int, Field(ge=0, le=100)] | None = None,
        diagnosis: str = "",
        action: str = "",
        impaired_abilities: list[Ability] = [],  # noqa: B006 - pydantic copies defaults
        has_capacity: bool | None = None,
        drug: str = "",
        start_in_days: Annotated[int, Field(ge=0, le=60)] | None = None,
        next_check_days: Annotated[int, Field(ge=1, le=60)] | None = None,
    ) -> str:
        """Submit the assessment and end; give the fields that the task names.

        Args:
            item_scores: Item and score, items named as in instrument_guide.
            total: Total of the instrument.
            category: Category as the scoring tool names it.
            risk_level: Level of risk.
            disposition: Where care goes on.
            second_total: Total when scored again.
            diagnosis: Condition id, for example delirium.
            action: What is done, in a word of service_guide, for example continue.
            impaired_abilities: Abilities that are missing; empty for none.
            has_capacity: Capacity for the decision in question.
            drug: Generic name, for example sertraline.
            start_in_days: Days from today to the first dose.
            next_check_days: Days to the next blood count.
        """
        names = [entry.item for entry in item_scores]
        if len(set(names)) < len(names):
            raise ToolError("item_scores names an item twice; give each once.")
        known = table("first_steps")
        if diagnosis and diagnosis not in known:
            raise ToolError(f"No condition {diagnosis[:40]!r}.{nearest(diagnosis[:40], known)}")
        if drug:
            known_drug(drug)
        return "submitted"
