"""Dose ceilings by kidney function, and the people whose kidney function a question states."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from healthgym.errors import TaskError
from healthgym.knowledge_base.pharmacology import Drug, load_drugs, renal_dose
from healthgym.tasks import Call
from healthgym.tasks.families import Draw
from healthgym.tasks.task import Difficulty

from ..scores.renal import creatinine_clearance_ml_min
from .units import conversions

MARGIN = 0.08
"""No clearance is placed within this share of a limit, so that rounding decides nothing."""
CLEARANCES = (9, 13, 17.5, 23, 27, 33, 38, 44, 54, 66, 75, 95)
"""Clearances in mL/min that questions are about, around all limits in use."""


@dataclass(frozen=True, slots=True)
class Kidneys:
    """How a question states a clearance, and the calls that work it out."""

    text: str
    clearance_ml_min: float
    working: tuple[Call, ...]


@lru_cache(maxsize=1)
def dosed_by_clearance() -> tuple[str, ...]:
    """Return the drugs all of whose bands state a ceiling by Cockcroft-Gault clearance, sorted."""
    return tuple(sorted(drug.id for drug in load_drugs().values() if drug.renal and _is_plain(drug)))


def _is_plain(drug: Drug) -> bool:
    by_clearance = not any("eGFR" in band.note for band in drug.renal)
    return by_clearance and all(band.avoid or band.max_daily_mg is not None for band in drug.renal)


def ceiling_mg(drug: str, clearance_ml_min: float) -> float | None:
    """Return the highest daily dose: 0 when to be avoided, the ordinary maximum (None if unknown) above all limits."""
    band = renal_dose(drug, clearance_ml_min)
    if band is None:
        monograph = load_drugs()[drug]
        return None if monograph.older_dose is not None else monograph.max_daily_mg
    return 0.0 if band.avoid else band.max_daily_mg


def is_clear_of(drug: str, clearance_ml_min: float) -> bool:
    """Say whether a clearance keeps its distance from every limit of a drug."""
    return all(abs(clearance_ml_min - band.below) > MARGIN * band.below for band in load_drugs()[drug].renal)


def state_kidneys(draw: Draw, clearance_ml_min: float, difficulty: Difficulty, drugs: Sequence[str]) -> Kidneys:
    """Return a statement of kidney function: the clearance itself, or what it is computed from.

    Easy states the clearance; medium age, sex, weight and creatinine in mg/dL; hard the creatinine in umol/L. The
    clearance of the latter two comes near the one asked for and never within the margin of a limit of `drugs`.
    """
    if difficulty == "easy":
        return Kidneys(f"a creatinine clearance of {clearance_ml_min:g} mL/min", clearance_ml_min, ())
    factor = conversions()["creatinine"].factor
    for _ in range(200):
        sex = ("female", "male")[int(draw.rng.integers(2))]
        age, weight = int(draw.rng.integers(30, 88)), int(draw.rng.integers(50, 105))
        creatinine = round(creatinine_clearance_ml_min(age, weight, 1.0, sex) / clearance_ml_min, 2)
        micromoles = round(creatinine * factor)
        if difficulty == "hard":
            creatinine = round(micromoles / factor, 3)
        clearance = creatinine_clearance_ml_min(age, weight, creatinine, sex)
        if not 0.5 <= creatinine <= 9 or not all(is_clear_of(drug, clearance) for drug in drugs):
            continue
        person = f"{'an' if str(age)[0] == '8' else 'a'} {age}-year-old {'woman' if sex == 'female' else 'man'} of {weight} kg"
        compute = Call("cockcroft_gault", age_years=age, weight_kg=weight, creatinine_mg_dl=creatinine, sex=sex)
        if difficulty == "medium":
            return Kidneys(f"{person} with a creatinine of {creatinine:g} mg/dL", clearance, (compute,))
        turn = Call("convert_unit", value=micromoles, from_unit="umol/L", to_unit="mg/dL", analyte="creatinine")
        return Kidneys(f"{person} with a creatinine of {micromoles} umol/L", clearance, (turn, compute))
    raise TaskError(f"{draw.family} {draw.split} {draw.index}: nobody has a clearance near {clearance_ml_min:g} mL/min")
