"""The task families of obstetrics and gynaecology."""

from .family_dating import pregnancy_dating
from .family_glucose import gestational_diabetes
from .family_induction import induction_readiness
from .family_rh import rh_prophylaxis

__all__ = ["gestational_diabetes", "induction_readiness", "pregnancy_dating", "rh_prophylaxis"]
