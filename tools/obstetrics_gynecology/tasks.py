"""The task families of obstetrics and gynaecology."""

from .family_bleeding import postpartum_haemorrhage
from .family_dating import pregnancy_dating
from .family_early_pregnancy import early_pregnancy
from .family_glucose import gestational_diabetes
from .family_hypertension import hypertension_in_pregnancy
from .family_induction import induction_readiness
from .family_medicines import medicine_review
from .family_rh import rh_prophylaxis
from .family_tracing import fetal_tracing
from .family_treatment import treatment_in_pregnancy

__all__ = [
    "early_pregnancy",
    "fetal_tracing",
    "gestational_diabetes",
    "hypertension_in_pregnancy",
    "induction_readiness",
    "medicine_review",
    "postpartum_haemorrhage",
    "pregnancy_dating",
    "rh_prophylaxis",
    "treatment_in_pregnancy",
]
