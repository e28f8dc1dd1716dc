"""The tools of ehr_management: the record, medicines, infections, codes, acting, and the typed submission."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

from ..evidence.toolkit import EvidenceToolkit
from ..scores.apache2 import apache2
from ..scores.charlson import charlson
from ..scores.kdigo_aki import kdigo_aki
from ..scores.lace import lace
from ..scores.quick_sofa import qsofa
from ..scores.renal import cockcroft_gault, egfr_ckd_epi
from ..scores.saps2 import saps2
from ..scores.sofa import sofa
from .acting import ActingTools
from .medicines import MedicineTools
from .orders import known_drug
from .reading import ReadingTools
from .timeline import Moment

Trend = Literal["rising", "falling", "stable"]
Risk = Literal["low", "moderate", "high"]
Drugs = Annotated[list[str], Field(max_length=12)]


class EhrToolkit(ReadingTools, MedicineTools, ActingTools):
    """Every tool of the domain."""

    domain = "ehr_management"
    shared = (EvidenceToolkit, sofa, qsofa, saps2, apache2, charlson, lace, kdigo_aki, cockcroft_gault, egfr_ckd_epi)

    @tool(effect="submit")
    def submit_record(
        self,
        patient_id: str,
        value: Annotated[float, Field(ge=-10_000, le=100_000)] | None = None,
        at: Moment | None = None,
        trend: Trend | None = None,
        score: Annotated[int, Field(ge=0, le=200)] | None = None,
        risk: Risk | None = None,
    ) -> str:
        """Submit the answer and end; give the fields that the task names.

        Args:
            patient_id: Patient id.
            value: A number, in the unit of the record.
            at: Moment of an entry, as 2025-03-09 06:00.
            trend: Course of a result over a window.
            score: Total of a severity score, or a stage.
            risk: Band of a score.
        """
        self.world.chart(patient_id)
        return f"Submitted for {patient_id}."
