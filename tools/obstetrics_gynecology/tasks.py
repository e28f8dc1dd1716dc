"""The task families of obstetrics and gynaecology."""

from .family_bleeding import postpartum_haemorrhage
from .family_dating import pregnancy_dating
from .family_glucose import gestational_diabetes
from .family_hypertension import hypertension_in_pregnancy
from .family_induction import induction_readiness
from .family_rh import rh_prophylaxis
from .family_tracing import fetal_tracing

__all__ = [
    "fetal_tracing",
    "gestational_diabetes",
    "hypertension_in_pregnancy",
    "induction_readiness",
    "postpartum_haemorrhage",
    "pregnancy_dating",
    "rh_prophylaxis",
]
