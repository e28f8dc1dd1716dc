"""The task families of emergency triage."""

from .family_arrivals import single_arrival, time_critical
from .family_drugs import analgesia, first_drug
from .family_imaging import imaging_rules
from .family_queues import board_priority, reassessment
from .family_vital_signs import vital_sign_triage

__all__ = [
    "analgesia",
    "board_priority",
    "first_drug",
    "imaging_rules",
    "reassessment",
    "single_arrival",
    "time_critical",
    "vital_sign_triage",
]
