"""Every tool of visual_diagnosis, and the typed reading that ends an episode."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

from ..evidence.toolkit import EvidenceToolkit
from .action_tools import ActionTools
from .blood_tools import BloodTools
from .chest_tools import ChestTools
from .compare_tools import CompareTools
from .ecg_tools import EcgTools
from .fundus_tools import FundusTools
from .histology_tools import HistologyTools
from .skin_tools import SkinTools

Conclusion = Literal[
    "normal_heart_size", "cardiomegaly", "not_assessable",
    "no_chest_finding", "small_pneumothorax", "large_pneumothorax", "pleural_effusion", "nodule", "mass",
    "partial_response", "stable_disease", "progressive_disease",
    "benign_lesion", "suspicious_lesion", "malignant_lesion",
    "no_retinopathy", "mild_npdr", "moderate_npdr", "severe_npdr", "proliferative_retinopathy",
    "normal_disc", "glaucoma_suspect",
    "normal_film", "hypochromic_cells", "spherocytes", "sickle_cells", "schistocytes", "malaria_parasites",
    "no_parasites", "parasitaemia", "hyperparasitaemia",
    "sinus_rhythm", "sinus_bradycardia", "sinus_tachycardia", "atrial_fibrillation", "first_degree_av_block",
    "normal_qtc", "prolonged_qtc", "high_risk_qtc",
    "low_ki67", "intermediate_ki67", "high_ki67", "grade_1", "grade_2", "grade_3",
    "eosinophil_criterion_met", "eosinophil_criterion_not_met",
]  # fmt: skip
"""Every conclusion that a task may ask for; each task names its own few."""


class VisualDiagnosisToolkit(
    ChestTools, SkinTools, FundusTools, BloodTools, EcgTools, HistologyTools, CompareTools, ActionTools
):
    """Every tool of the domain."""

    domain = "visual_diagnosis"
    shared = (EvidenceToolkit,)

    @tool(effect="submit")
    def submit_reading(
        self,
        patient_id: str,
        conclusion: Conclusion,
        value: Annotated[float, Field(ge=-1000, le=10_000)] | None = None,
        side: Literal["right", "left", "both", "none"] | None = None,
    ) -> str:
        """Submit the reading and end.

        Args:
            patient_id: For example P1.
            conclusion: One of those that the task names.
            value: The number that the task asks for.
            side: The patient's side, where the task asks for it.
        """
        self.world.chart(patient_id)
        return f"Reading of {patient_id} submitted: {conclusion.replace('_', ' ')}."
