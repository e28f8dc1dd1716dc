"""All tools of the care pathways, and the submission that ends an episode."""

from typing import Annotated

from pydantic import Field

from healthgym.errors import ToolError, nearest
from healthgym.toolkit import tool

from ..evidence.toolkit import EvidenceToolkit
from ..scores.glasgow_coma import gcs
from ..scores.heart import heart_score
from ..scores.news2 import news2
from ..scores.quick_sofa import qsofa
from ..scores.renal import cockcroft_gault
from ..scores.shock_index import shock_index
from ..scores.stroke_nihss import nihss
from .guide_tools import GuideTools
from .loading import pathways
from .risk_scores import blatchford_score, paracetamol_line, simplified_pesi
from .schema import Service


class CrossDomainToolkit(GuideTools):
    """Tools of the care pathways."""

    domain = "cross_domain"
    shared = (
        EvidenceToolkit, blatchford_score, simplified_pesi, paracetamol_line, news2, qsofa, shock_index, gcs, nihss,
        heart_score, cockcroft_gault,
    )  # fmt: skip

    @tool(effect="submit")
    def submit_pathway(
        self,
        decision: str,
        disposition: Service,
        next_action: str,
        due_in_minutes: Annotated[int, Field(ge=0, le=20_160)],
    ) -> str:
        """Submit the key decision, where the patient is cared for from now on, and the next timed action; ends.

        Args:
            decision: Id from pathway_guide, for example primary_pci.
            disposition: Service, or home.
            next_action: Id from pathway_guide, for example repeat_potassium.
            due_in_minutes: Minutes from its starting point to the next action, as the guide gives it.
        """
        found = [pathways()[chart.extra["pathway"]] for chart in self.world.charts.values()]
        for name, value, known in (
            ("decision", decision, [item for pathway in found for item in pathway.decisions]),
            ("next_action", next_action, [item for pathway in found for item in pathway.next_actions]),
        ):
            if value.strip().lower() not in known:
                raise ToolError(f"No {name} {value[:60]!r}.{nearest(value[:60], known)} Known: {', '.join(known)}.")
        return "submitted"
