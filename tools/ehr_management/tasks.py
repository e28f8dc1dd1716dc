"""The task families of ehr_management."""

from .family_coding import code_the_stay
from .family_discharge import discharge_decision
from .family_kidney import fit_dose_to_kidneys, stage_kidney_injury
from .family_notes import correct_a_note
from .family_reconciliation import reconcile_medicines
from .family_scores import charlson_index, first_day_severity, sofa_of_day
from .family_stewardship import choose_by_antibiogram, narrow_by_culture
from .family_values import trend_question, value_lookup

__all__ = [
    "charlson_index",
    "choose_by_antibiogram",
    "code_the_stay",
    "correct_a_note",
    "discharge_decision",
    "first_day_severity",
    "fit_dose_to_kidneys",
    "narrow_by_culture",
    "reconcile_medicines",
    "sofa_of_day",
    "stage_kidney_injury",
    "trend_question",
    "value_lookup",
]
