"""The task families of obstetrics and gynaecology."""

from .family_bleeding import postpartum_haemorrhage
from .family_contraception import contraception_choice
from .family_dating import pregnancy_dating
from .family_early_pregnancy import early_pregnancy
from .family_fetus import fetal_surveillance, newborn_at_birth
from .family_glucose import gestational_diabetes
from .family_hypertension import hypertension_in_pregnancy
from .family_induction import induction_readiness
from .family_labour import labour_progress_review, trial_of_labour
from .family_medicines import medicine_review
from .family_presentations import acute_gynaecology
from .family_preterm import preterm_labour
from .family_rh import rh_prophylaxis
from .family_tracing import fetal_tracing
from .family_treatment import treatment_in_pregnancy

__all__ = [
    "acute_gynaecology",
    "contraception_choice",
    "early_pregnancy",
    "fetal_surveillance",
    "fetal_tracing",
    "gestational_diabetes",
    "hypertension_in_pregnancy",
    "induction_readiness",
    "labour_progress_review",
    "medicine_review",
    "newborn_at_birth",
    "postpartum_haemorrhage",
    "pregnancy_dating",
    "preterm_labour",
    "rh_prophylaxis",
    "treatment_in_pregnancy",
    "trial_of_labour",
]
