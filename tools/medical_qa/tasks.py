"""The task families of medical_qa."""

from .family_claims import guideline_claims, value_claims
from .family_conditions import condition_naming
from .family_drugs import drug_identity, drug_properties
from .family_interactions import interaction_effect, interaction_partners
from .family_kidneys import renal_ceiling, renal_comparison, renal_selection
from .family_laboratory import laboratory_flags, laboratory_shift
from .family_scores import score_totals

__all__ = [
    "condition_naming",
    "drug_identity",
    "drug_properties",
    "guideline_claims",
    "interaction_effect",
    "interaction_partners",
    "laboratory_flags",
    "laboratory_shift",
    "renal_ceiling",
    "renal_comparison",
    "renal_selection",
    "score_totals",
    "value_claims",
]
