"""The task families of visual_diagnosis."""

from .family_blood import parasite_burden, red_cells
from .family_chest import chest_finding, heart_size, mass_response
from .family_ecg import ecg_rhythm_strip, qt_interval
from .family_fundus import optic_disc, retinopathy
from .family_histology import eosinophil_count, ki67_index
from .family_skin import skin_abcd

__all__ = [
    "chest_finding",
    "ecg_rhythm_strip",
    "eosinophil_count",
    "heart_size",
    "ki67_index",
    "mass_response",
    "optic_disc",
    "parasite_burden",
    "qt_interval",
    "red_cells",
    "retinopathy",
    "skin_abcd",
]
