"""The task families of clinical diagnosis."""

from .family_prescribing import safe_prescribing
from .family_referral import referral
from .family_workup import workup

__all__ = ["referral", "safe_prescribing", "workup"]
