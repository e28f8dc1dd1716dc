"""The task families of drug_interaction."""

from .family_culprits import allergy, beers, contraindication, pregnancy_lactation
from .family_duplication import duplication
from .family_pairs import grade_pair, hidden_product, qt_stacking, regimen_review
from .family_renal import renal_dose_check, triple_whammy

__all__ = [
    "allergy",
    "beers",
    "contraindication",
    "duplication",
    "grade_pair",
    "hidden_product",
    "pregnancy_lactation",
    "qt_stacking",
    "regimen_review",
    "renal_dose_check",
    "triple_whammy",
]
