"""Everything a diagnostician can do: read, test, look up, check, act, score, submit."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError, nearest
from healthgym.toolkit import tool

from ..evidence.toolkit import EvidenceToolkit
from ..scores.alveolar_gradient import alveolar_arterial_gradient
from ..scores.anion_gap import anion_gap
from ..scores.cha2ds2_vasc import cha2ds2_vasc
from ..scores.child_pugh import child_pugh
from ..scores.corrected_calcium import corrected_calcium
from ..scores.corrected_sodium import corrected_sodium
from ..scores.curb65 import curb65
from ..scores.has_bled import has_bled
from ..scores.heart import heart_score
from ..scores.meld import meld_3_0
from ..scores.perc import perc
from ..scores.renal import cockcroft_gault, egfr_ckd_epi
from ..scores.wells_dvt import wells_dvt
from ..scores.wells_pe import wells_pe
from .chart_tools import ChartTools
from .investigation_tools import InvestigationTools
from .reference_tools import ReferenceTools
from .tables import fold, managements, orderable
from .treatment_tools import TreatmentTools

Decision = Literal[
    "home_care", "hospital_care", "severe_pneumonia_care", "no_test", "d_dimer", "ct_pulmonary_angiography",
    "ultrasound_leg_veins", "anticoagulate", "consider_anticoagulation", "no_anticoagulation", "high_bleeding_risk",
    "not_high_bleeding_risk", "transplant_evaluation", "no_transplant_evaluation", "class_a", "class_b", "class_c",
    "early_discharge", "observe", "invasive_strategy",
]  # fmt: skip
Disorder = Literal[
    "high_gap_metabolic_acidosis", "normal_gap_metabolic_acidosis", "metabolic_alkalosis", "acute_respiratory_acidosis",
    "chronic_respiratory_acidosis", "acute_respiratory_alkalosis", "high_gap_acidosis_and_metabolic_alkalosis",
    "high_gap_acidosis_and_respiratory_alkalosis", "translocational_hyponatraemia", "hypotonic_hyponatraemia",
    "hypercalcaemia", "hypocalcaemia", "normal_calcium", "hypoventilation", "gas_exchange_defect",
]  # fmt: skip


class ClinicalDiagnosisToolkit(ChartTools, InvestigationTools, ReferenceTools, TreatmentTools):
    """Tools of clinical diagnosis."""

    domain = "clinical_diagnosis"
    shared = (
        EvidenceToolkit,
        curb65,
        wells_pe,
        wells_dvt,
        perc,
        cha2ds2_vasc,
        has_bled,
        heart_score,
        meld_3_0,
        child_pugh,
        egfr_ckd_epi,
        cockcroft_gault,
        anion_gap,
        corrected_sodium,
        corrected_calcium,
        alveolar_arterial_gradient,
    )

    @tool(effect="submit")
    def submit_diagnosis(
        self,
        icd10: Annotated[str, Field(max_length=10)] = "",
        first_management: Annotated[str, Field(max_length=60)] = "",
        score: Annotated[float, Field(ge=-5, le=50)] | None = None,
        decision: Decision | None = None,
        disorder: Disorder | None = None,
        value: Annotated[float, Field(ge=-50, le=1000)] | None = None,
        next_test: Annotated[str, Field(max_length=60)] = "",
    ) -> str:
        """Submit the conclusion and end; give the fields that the task names.

        Args:
            icd10: ICD-10-CM code of the diagnosis, for example J18.9.
            first_management: Id of what comes first, as management_plan gives it.
            score: Points of the instrument.
            decision: What follows from the score.
            disorder: Disorder of acid, base, salt or gas exchange.
            value: Computed figure: gap, corrected sodium, corrected calcium or gradient.
            next_test: Laboratory test or study to do next, or none.
        """
        known, tests = managements(), orderable()
        if first_management and fold(first_management) not in known:
            raise ToolError(f"No management {first_management!r}.{nearest(fold(first_management), known)}")
        if next_test and fold(next_test) not in tests:
            raise ToolError(f"No test {next_test!r}.{nearest(fold(next_test), tests)}")
        return "submitted"
