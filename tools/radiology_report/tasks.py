"""The task families of radiology_report."""

from .family_breast import mammography
from .family_chest import chest_film, incidental_nodule, lung_screening
from .family_head import head_bleed, stroke_ct
from .family_kidney import renal_cyst
from .family_liver import liver_observation
from .family_response import treatment_response
from .family_thyroid import thyroid_nodule

__all__ = [
    "chest_film",
    "head_bleed",
    "incidental_nodule",
    "liver_observation",
    "lung_screening",
    "mammography",
    "renal_cyst",
    "stroke_ct",
    "thyroid_nodule",
    "treatment_response",
]
