"""The task families of medical_qa."""

from .family_kidneys import renal_ceiling, renal_comparison, renal_selection

__all__ = ["renal_ceiling", "renal_comparison", "renal_selection"]
