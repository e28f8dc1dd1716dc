"""The task families of visual_diagnosis."""

from .family_chest import chest_finding, heart_size, mass_response

__all__ = ["chest_finding", "heart_size", "mass_response"]
