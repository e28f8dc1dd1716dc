"""The instruments of the risk-score family, by name, and who is drawn for each."""

from collections.abc import Callable, Mapping

from healthgym.tasks.families import Draw

from .risk_common import Scored
from .risk_heart_and_liver import build_cha2ds2_vasc, build_child_pugh, build_has_bled, build_heart, build_meld
from .risk_lungs_and_veins import build_curb65, build_wells_dvt, build_wells_pe

BUILDERS: Mapping[str, Callable[[Draw], Scored]] = {
    "CURB-65": build_curb65,
    "Wells for pulmonary embolism": build_wells_pe,
    "CHA2DS2-VASc": build_cha2ds2_vasc,
    "HAS-BLED": build_has_bled,
    "MELD 3.0": build_meld,
    "HEART": build_heart,
    "Wells for deep vein thrombosis": build_wells_dvt,
    "Child-Pugh": build_child_pugh,
}
HELD_OUT = ("Wells for deep vein thrombosis", "Child-Pugh")
"""Instruments that appear in test_ood only."""
