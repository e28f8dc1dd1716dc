"""Everything the triage desk can do: look, look up, act, score, submit."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.knowledge_base.schema import Disposition, Protocol
from healthgym.toolkit import tool

from ..evidence.toolkit import EvidenceToolkit
from ..scores.cincinnati import cincinnati_stroke
from ..scores.ct_head_rule import canadian_ct_head
from ..scores.emergency_severity import esi_algorithm
from ..scores.glasgow_coma import gcs
from ..scores.heart import heart_score
from ..scores.news2 import news2
from ..scores.nexus_spine import nexus
from ..scores.ottawa import ottawa_ankle, ottawa_knee
from ..scores.pecarn import pecarn_head
from ..scores.quick_sofa import qsofa
from ..scores.revised_trauma import rts
from ..scores.shock_index import shock_index
from ..scores.stroke_nihss import nihss
from .actions import ActionTools
from .assessment import AssessmentTools
from .reference import ReferenceTools, known_condition

Imaging = Literal["ct_head", "observe_head", "ct_cervical_spine", "xray_ankle", "xray_foot", "xray_knee"]


class TriageToolkit(AssessmentTools, ReferenceTools, ActionTools):
    """Tools of emergency triage."""

    domain = "triage_emergency"
    shared = (
        EvidenceToolkit,
        esi_algorithm,
        news2,
        shock_index,
        gcs,
        rts,
        cincinnati_stroke,
        nihss,
        canadian_ct_head,
        pecarn_head,
        ottawa_ankle,
        ottawa_knee,
        nexus,
        heart_score,
        qsofa,
    )

    @tool(effect="submit")
    def submit_triage(
        self,
        esi_level: Annotated[int, Field(ge=1, le=5)] | None = None,
        disposition: Disposition | None = None,
        protocol: Protocol | None = None,
        impression: str = "",
        priority: list[str] = [],  # noqa: B006 - pydantic copies defaults
        imaging: list[Imaging] = [],  # noqa: B006 - pydantic copies defaults
    ) -> str:
        """Submit the triage decision and end; give the fields that the task names.

        Args:
            esi_level: ESI level, 1 (now) to 5 (can wait).
            disposition: Where the patient goes.
            protocol: Time-critical protocol, or none.
            impression: Most likely condition, by id, for example pneumonia.
            priority: Patient ids, most urgent first.
            imaging: Studies that a decision rule asks for; empty for none.
        """
        if impression:
            known_condition(impression)
        for patient_id in priority:
            self.world.chart(patient_id)
        if len(set(priority)) < len(priority):
            raise ToolError(f"priority names a patient twice: {', '.join(priority)}. Name each once.")
        return "submitted"
