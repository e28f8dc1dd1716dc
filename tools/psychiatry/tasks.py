"""The task families of psychiatry."""

from .family_capacity import capacity
from .family_cognition import cognitive_screen
from .family_differential import differential
from .family_medicines import antidepressant_switch, medicine_choice
from .family_monitoring import clozapine_monitoring, lithium_monitoring
from .family_screening import screening
from .family_suicide import suicide_risk
from .family_violence import violence_risk
from .family_withdrawal import alcohol_withdrawal

__all__ = [
    "alcohol_withdrawal",
    "antidepressant_switch",
    "capacity",
    "clozapine_monitoring",
    "cognitive_screen",
    "differential",
    "lithium_monitoring",
    "medicine_choice",
    "screening",
    "suicide_risk",
    "violence_risk",
]
