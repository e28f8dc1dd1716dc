"""The task families of clinical diagnosis."""

from .family_acid_base import acid_base_and_salts
from .family_next_test import next_best_test
from .family_prescribing import safe_prescribing
from .family_referral import referral
from .family_risk import risk_score
from .family_workup import workup

__all__ = ["acid_base_and_salts", "next_best_test", "referral", "risk_score", "safe_prescribing", "workup"]
