"""The task families of drug_interaction."""

from .family_pairs import grade_pair, hidden_product, qt_stacking, regimen_review

__all__ = ["grade_pair", "hidden_product", "qt_stacking", "regimen_review"]
