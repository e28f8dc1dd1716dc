"""Draws what a patient brings along: long-standing illnesses, allergies, and the medicines that fit both."""

from collections.abc import Sequence

import numpy as np

from healthgym.world import Allergy, Medication

from . import KnowledgeBase
from .lots import Lots
from .pharmacology import Drug, cross_reactive
from .schema import Condition

ALLERGIES: tuple[tuple[str, str, float], ...] = (
    ("penicillin", "hives", 0.08),
    ("sulfonamide_antibiotic", "rash", 0.03),
    ("nsaid", "wheeze", 0.02),
    ("opioid", "itching", 0.02),
    ("latex", "hives", 0.01),
)
"""Substance, reaction, share of patients. Penicillin: JAMA 2019;321:188 (about 10 % report it); others: rounded from
Zhou et al., Allergy 2016;71:1305."""
AS_NEEDED = frozenset({"salbutamol", "ibuprofen", "paracetamol", "sumatriptan"})
"""Medicines that people take when they feel the need."""
UNITS_PER_KG, MG_PER_UNIT = 0.2, 0.036378
"""Basal insulin: starting dose a day, and what a unit weighs. FDA label insulin glargine, as of 2024."""
CHILDHOOD_SHARE = {"asthma": 0.065, "epilepsy": 0.006}
"""Illnesses of 5 to 17 years. Asthma: CDC Most Recent National Asthma Data 2022; epilepsy: MMWR 2017;66:821."""


def draw_illnesses(
    rng: np.random.Generator, kb: KnowledgeBase, profile: Condition, age_years: float
) -> tuple[str, ...]:
    """Draw long-standing illnesses: those the condition brings, and others at their prevalence for age."""
    band = 0 if age_years < 45 else 1 if age_years < 65 else 2
    lots = Lots(rng)
    found = []
    for name, illness in kb.comorbidities.items():
        in_childhood = CHILDHOOD_SHARE.get(name, 0.0) if age_years >= 5 else 0.0
        usual = illness.prevalence[band] if age_years >= 18 else in_childhood
        if lots.uniform(name) < max(usual, profile.who.comorbidities.get(name, 0.0)):
            found.append(name)
    if {"type_1_diabetes", "type_2_diabetes"} <= set(found):
        brings = profile.who.comorbidities
        is_type_1 = brings.get("type_1_diabetes", 0) > brings.get("type_2_diabetes", 0)
        found.remove("type_2_diabetes" if is_type_1 else "type_1_diabetes")
    return tuple(found)


def draw_allergies(rng: np.random.Generator) -> tuple[Allergy, ...]:
    """Draw recorded allergies at the rates at which patients report them."""
    return tuple(
        Allergy(substance=substance, reaction=reaction, severity="moderate")
        for substance, reaction, share in ALLERGIES
        if rng.random() < share
    )


def draw_medicines(
    rng: np.random.Generator,
    kb: KnowledgeBase,
    profile: Condition,
    illnesses: Sequence[str],
    allergies: Sequence[Allergy],
    *,
    weight_kg: float,
    is_pregnant: bool,
    takes_anticoagulant: bool | None,
) -> tuple[Medication, ...]:
    """Draw the medicines taken: none that allergy, another illness or pregnancy forbids, and at most one anticoagulant.

    Args:
        rng: Source of all randomness.
        kb: Facts to draw from.
        profile: Condition the patient has.
        illnesses: Ids of long-standing illnesses.
        allergies: Recorded allergies.
        weight_kg: Sets the dose of insulin.
        is_pregnant: Leaves out what pregnancy forbids.
        takes_anticoagulant: What the patient tells about blood thinners; None when the condition does not raise it.
    """
    wanted = [
        (name, illness)
        for illness in illnesses
        for name, share in kb.comorbidities[illness].medicines.items()
        if rng.random() < share
    ]
    wanted += [(name, "") for name, share in profile.who.medicines.items() if rng.random() < share]
    if takes_anticoagulant:
        wanted.insert(0, ("apixaban", "atrial_fibrillation"))
    taken: dict[str, Medication] = {}
    has_anticoagulant = takes_anticoagulant is False
    for name, reason in wanted:
        drug = kb.drugs.get(name)
        if drug is None or name in taken or _is_forbidden(drug, illnesses, allergies, is_pregnant):
            continue
        dose = _dose(drug, weight_kg)
        if dose is None:
            continue
        if "anticoagulant" in drug.classes:
            if has_anticoagulant:
                continue
            has_anticoagulant = True
        taken[name] = Medication(
            drug=name,
            dose_mg=dose[0],
            route=drug.routes[0],
            times_per_day=dose[1],
            indication=reason,
            as_needed=name in AS_NEEDED,
        )
    return tuple(taken.values())


def _dose(drug: Drug, weight_kg: float) -> tuple[float, float] | None:
    """Return mg and times a day, or None when the monograph gives no usual dose."""
    if drug.id == "insulin_glargine":
        return round(round(UNITS_PER_KG * weight_kg) * MG_PER_UNIT, 2), 1.0
    return (drug.usual_dose.dose_mg, drug.usual_dose.times_per_day) if drug.usual_dose else None


def _is_forbidden(drug: Drug, illnesses: Sequence[str], allergies: Sequence[Allergy], is_pregnant: bool) -> bool:
    if is_pregnant and drug.pregnancy is not None and drug.pregnancy.level == "avoid":
        return True
    if any(illness in drug.contraindications for illness in illnesses):
        return True
    return any(cross_reactive(allergy.substance, drug.id) for allergy in allergies)
