"""The tools of drug_interaction: chart, reference, changes, and the typed review that ends an episode."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.toolkit import tool

from ..evidence.toolkit import EvidenceToolkit
from ..scores.renal import cockcroft_gault, egfr_ckd_epi
from .change_tools import ChangeTools
from .chart_tools import ChartTools
from .knowledge import known_drug
from .reference_tools import ReferenceTools

Problem = Literal[
    "interaction", "qt_prolongation", "triple_whammy", "duplication", "contraindication", "renal_dose", "pregnancy",
    "lactation", "beers", "allergy",
]  # fmt: skip
Severity = Literal["none", "minor", "moderate", "major", "contraindicated"]
Action = Literal["no_change", "monitor", "separate_doses", "reduce_dose", "stop", "substitute"]
Mechanism = Literal[
    "CYP1A2", "CYP2C19", "CYP2C8", "CYP2C9", "CYP2D6", "CYP3A4", "OATP1B1", "P-gp", "absorption", "angioedema",
    "antagonism", "anticholinergic_burden", "bleeding", "bradycardia", "dual_raas_block", "enzyme_induction",
    "exposure_increase", "folate_antagonism", "glucuronidation", "hyperkalaemia", "hypertensive_crisis",
    "hypoglycaemia", "hypokalaemia", "hypotension", "inr_rise", "lithium_clearance", "liver_injury",
    "masked_hypoglycaemia", "mucosal_injury", "ototoxicity", "qt_prolongation", "rebound_hypertension",
    "renal_clearance", "renal_injury", "respiratory_depression", "seizure", "serotonin_syndrome",
    "valproate_clearance", "xanthine_oxidase",
]  # fmt: skip
"""Every mechanism of the interaction rules."""


class DrugInteractionToolkit(ChartTools, ReferenceTools, ChangeTools):
    """Every tool of the domain."""

    domain = "drug_interaction"
    shared = (EvidenceToolkit, cockcroft_gault, egfr_ckd_epi)

    @tool(effect="submit")
    def submit_review(
        self,
        patient_id: str,
        problem: Problem,
        drugs: Annotated[list[str], Field(min_length=1, max_length=4)],
        action: Action,
        severity: Severity | None = None,
        mechanism: Mechanism | None = None,
        alternative: str | None = None,
        max_daily_dose_mg: Annotated[float, Field(ge=0, le=20_000)] | None = None,
    ) -> str:
        """Submit the review and end, after the change was made on the chart.

        Args:
            patient_id: Patient id.
            problem: Kind of problem.
            drugs: The medicines that make the problem, spelt as on the chart, for example warfarin.
            action: What was done about it.
            severity: Of an interaction.
            mechanism: Of an interaction, as check_pair names it.
            alternative: What was started instead, when one drug was substituted.
            max_daily_dose_mg: The highest daily dose allowed, when the dose is limited; 0 when the drug must not be given.
        """
        self.world.chart(patient_id)
        if len({known_drug(name) for name in drugs}) != len(drugs):
            raise ToolError("drugs names one medicine twice; name each once.")
        if alternative is not None:
            known_drug(alternative)
        return f"Review of {patient_id} submitted."
