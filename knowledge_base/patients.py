"""Draws coherent patients from condition profiles: one random generator in, one chart out."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from healthgym.errors import NotRegistered
from healthgym.world import Allergy, Chart, Finding, Persona, Study, VitalSigns

from . import KnowledgeBase, load
from .background import draw_allergies, draw_illnesses, draw_medicines
from .laboratory import creatinine_for_egfr, lab_results
from .normal import body_size, normal_vital_signs
from .schema import Condition, SeverityProfile, VitalShift

__all__ = ["creatinine_for_egfr", "sample_patient"]

PREGNANT_SHARE, LACTATING_SHARE = 0.04, 0.03
"""Of women of 16 to 44 years, when the condition leaves it open. Order of magnitude from births and pregnancies a year in
NCHS National Vital Statistics Reports 2023;72(1); a design choice of the simulated population."""
AMBULANCE_SHARE = {"resuscitation": 0.8, "acute_bed": 0.35}
"""By disposition, 0.05 otherwise; a design choice of the simulated population."""
_PRONOUNS = {
    "female": {"he": "she", "He": "She", "his": "her", "His": "Her", "him": "her", "himself": "herself"},
    "male": {name: name for name in ("he", "He", "his", "His", "him", "himself")},
}
_DEFAULT_GLUCOSE = VitalShift().glucose_mg_dl


def sample_patient(
    rng: np.random.Generator,
    condition: str,
    *,
    patient_id: str = "P1",
    severity: str | None = None,
    kb: KnowledgeBase | None = None,
    age_years: float | None = None,
    sex: str | None = None,
    pregnancy_weeks: float | None = None,
    allergies: tuple[Allergy, ...] | None = None,
    persona: Persona | None = None,
) -> Chart:
    """Draw one patient with `condition`.

    Args:
        rng: Source of all randomness.
        condition: Id of a condition profile.
        patient_id: Name of the patient in the episode.
        severity: A severity of the profile; drawn by weight when None.
        kb: Facts to draw from; the installed ones when None.
        age_years: Fixes the age; drawn from the profile when None.
        sex: Fixes the sex; drawn from the profile when None.
        pregnancy_weeks: Fixes the weeks of gestation, 0 for not pregnant; drawn when None.
        allergies: Fixes the allergies; drawn when None.
        persona: Fixes how the patient talks; drawn when None.

    Raises:
        NotRegistered: unknown condition or severity; names the nearest.
        ValueError: a pregnancy was asked for in a man.
    """
    kb = kb or load()
    profile = kb.condition(condition)
    level_name = severity or _weighted(rng, {name: item.weight for name, item in profile.severities.items()})
    if level_name not in profile.severities:
        raise NotRegistered.named(f"severity of {condition}", level_name, profile.severities)
    level = profile.severities[level_name]
    age = _age(rng, profile) if age_years is None else age_years
    sex = sex or ("female" if rng.random() < profile.who.female_share else "male")
    weeks, lactating = _pregnancy(rng, profile, sex, age, pregnancy_weeks)
    weight, height = body_size(rng, sex, age)
    illnesses = draw_illnesses(rng, kb, profile, age)
    allergies = draw_allergies(rng) if allergies is None else allergies
    persona = persona or _persona(rng, kb, profile, level, age)
    vital_signs = _trajectory(rng, kb, level, illnesses, age)
    findings = _findings(rng, kb, profile, level, sex, persona.informant)
    thinner = next((finding.present for finding in findings if finding.id == "takes_blood_thinner"), None)
    medicines = draw_medicines(
        rng,
        kb,
        profile,
        illnesses,
        allergies,
        weight_kg=weight,
        is_pregnant=weeks is not None,
        takes_anticoagulant=thinner,
    )
    now = vital_signs[0][1]
    return Chart(
        patient_id=patient_id,
        age_years=age,
        sex=sex,  # type: ignore[arg-type]
        weight_kg=weight,
        height_cm=height,
        pregnancy_weeks=weeks,
        lactating=lactating,
        chief_complaint=_opening(rng, profile, sex, persona.informant),
        arrival="by ambulance" if rng.random() < AMBULANCE_SHARE.get(level.disposition, 0.05) else "walked in",
        comorbidities=illnesses if not thinner else tuple(dict.fromkeys((*illnesses, "atrial_fibrillation"))),
        condition=condition,
        severity=level_name,
        vital_signs=vital_signs,
        findings=findings,
        lab_results=lab_results(
            rng,
            kb,
            disease=level.labs,
            illnesses=illnesses,
            medicines=[medicine.drug for medicine in medicines],
            sex=sex,
            age_years=age,
            pregnancy_weeks=weeks,
            glucose_mg_dl=now.glucose_mg_dl or _DEFAULT_GLUCOSE[0],
            spo2_percent=now.spo2_percent or 98,
        ),
        studies={name: Study(id=name, report=report) for name, report in level.studies.items()},
        medications=medicines,
        allergies=allergies,
        persona=persona,
    )


def _weighted(rng: np.random.Generator, weights: Mapping[str, float]) -> str:
    values = np.array(list(weights.values()), dtype=float)
    return str(rng.choice(list(weights), p=values / values.sum()))


def _age(rng: np.random.Generator, profile: Condition) -> float:
    youngest, oldest = profile.who.age_years
    peak = profile.who.peak_years
    age = float(rng.uniform(youngest, oldest) if peak is None else rng.triangular(youngest, peak, oldest))
    return round(age, 3) if age < 1 else round(age, 1) if age < 5 else float(int(age))


def _pregnancy(
    rng: np.random.Generator, profile: Condition, sex: str, age: float, wanted: float | None
) -> tuple[float | None, bool]:
    """Draw weeks of gestation (None when not pregnant) and whether the patient breastfeeds."""
    if wanted and sex != "female":
        raise ValueError(f"pregnancy_weeks={wanted} needs sex='female'")
    fixed, chance = profile.who.pregnancy_weeks, float(rng.random())
    drawn = round(float(rng.uniform(*(fixed or (5, 38)))), 1)
    if wanted is not None:
        return wanted or None, False
    if fixed:
        return drawn, False
    if sex != "female" or not 16 <= age < 45 or not profile.who.can_be_pregnant:
        return None, False
    return (drawn if chance < PREGNANT_SHARE else None), PREGNANT_SHARE <= chance < PREGNANT_SHARE + LACTATING_SHARE


def _persona(
    rng: np.random.Generator, kb: KnowledgeBase, profile: Condition, level: SeverityProfile, age: float
) -> Persona:
    """Draw how the history is told: by a relative for children and the drowsy, hesitantly for what is hard to say."""
    style = str(rng.choice(["plain", "terse", "anxious", "chatty"], p=[0.6, 0.2, 0.15, 0.05]))
    hesitates = rng.random() < 0.25
    if age < 12 or level.vitals.gcs <= 12 or not profile.chief_complaints:
        return Persona(style="plain", informant="relative")
    if level.vitals.gcs < 15 and rng.random() < 0.5:
        return Persona(style="confused")
    held_back = (
        [kb.symptoms[name].topics for name in profile.symptoms if kb.symptoms[name].sensitive] if hesitates else []
    )
    return Persona(style=style, reticent_topics=tuple(word for topics in held_back for word in topics))  # type: ignore[arg-type]


def _opening(rng: np.random.Generator, profile: Condition, sex: str, informant: str) -> str:
    told_by_other = informant != "patient" and profile.chief_complaints_other
    words = (
        profile.chief_complaints_other if told_by_other else profile.chief_complaints or profile.chief_complaints_other
    )
    return str(rng.choice(words)).format_map(_PRONOUNS[sex])


def _trajectory(
    rng: np.random.Generator, kb: KnowledgeBase, level: SeverityProfile, illnesses: tuple[str, ...], age: float
) -> tuple[tuple[float, VitalSigns], ...]:
    usual = next(
        (kb.comorbidities[i].labs["glucose"] for i in illnesses if "glucose" in kb.comorbidities[i].labs), None
    )
    vital_signs = [(0.0, _vital_signs(rng, level.vitals, age, usual))]
    if level.deterioration is not None and level.deteriorates_after_minutes is not None:
        vital_signs.append((level.deteriorates_after_minutes, _vital_signs(rng, level.deterioration, age, usual)))
    return tuple(vital_signs)


def _vital_signs(
    rng: np.random.Generator, shift: VitalShift, age: float, usual_glucose: tuple[float, float] | None
) -> VitalSigns:
    """Move normal vital signs for age by the profile's shift, and keep them within what a body can show."""
    normal = normal_vital_signs(age)
    pace = min(normal.heart_rate_per_min / 76, 1.3)  # children's rates move in proportion
    noise = iter(rng.standard_normal(6).tolist())

    def draw(mean_sd: tuple[float, float], base: float, scale: float, low: float, high: float) -> float:
        return min(max(base + scale * (mean_sd[0] + mean_sd[1] * next(noise)), low), high)

    glucose = shift.glucose_mg_dl if usual_glucose is None or shift.glucose_mg_dl != _DEFAULT_GLUCOSE else usual_glucose
    values: dict[str, Any] = {
        "heart_rate_per_min": round(draw(shift.heart_rate_per_min, normal.heart_rate_per_min, pace, 30, 230)),
        "respiratory_rate_per_min": round(
            draw(shift.respiratory_rate_per_min, normal.respiratory_rate_per_min, pace, 4, 80)
        ),
        "spo2_percent": round(draw(shift.spo2_percent, 98, 1.0, 65, 100)),
        "temperature_c": round(draw(shift.temperature_c, 36.8, 1.0, 33, 42), 1),
        "glucose_mg_dl": float(round(draw(glucose, 0, 1.0, 15, 900))),
    }
    pressure = draw(shift.systolic_bp_mmhg, normal.systolic_bp_mmhg, normal.systolic_bp_mmhg / 124, 50, 250)
    low, high = shift.pain_0_10
    return VitalSigns(
        systolic_bp_mmhg=round(pressure),
        diastolic_bp_mmhg=round(pressure * float(rng.uniform(0.58, 0.68))),
        gcs=shift.gcs,
        pain_0_10=int(rng.integers(low, high + 1)),
        **values,
    )


def _findings(
    rng: np.random.Generator, kb: KnowledgeBase, profile: Condition, level: SeverityProfile, sex: str, informant: str
) -> tuple[Finding, ...]:
    """Draw symptoms and signs; key findings that fail to show are kept as negatives, never left out.

    Reduced consciousness is found exactly when the Glasgow Coma Scale says so.
    """
    made = []
    for name, chance in profile.symptoms.items():
        symptom, present = kb.symptoms[name], bool(rng.random() < level.findings.get(name, chance))
        if informant == "patient":
            lay = symptom.lay if present else symptom.absent
        else:
            lay = (symptom.other if present else symptom.other_absent).format_map(_PRONOUNS[sex])
        text = symptom.text if present else f"no {symptom.text}"
        made.append(Finding(id=name, reveal="ask", present=present, text=text, lay=lay, topics=symptom.topics))
    for name, chance in profile.signs.items():
        sign, present = kb.signs[name], bool(rng.random() < level.findings.get(name, chance))
        if name == "reduced_consciousness":
            present = level.vitals.gcs < 15
        text = sign.text if present else sign.absent
        made.append(Finding(id=name, reveal="examine", present=present, text=text, system=sign.system))
    return tuple(made)
