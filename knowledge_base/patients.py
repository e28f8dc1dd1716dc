"""Draws coherent patients from condition profiles: one random generator in, one chart out."""

from collections.abc import Mapping

import numpy as np

from healthgym.world import Allergy, Chart, Finding, LabResult, Medication, Persona, Study, VitalSigns

from . import KnowledgeBase, load
from .normal import body_size, normal_vital_signs
from .schema import Analyte, Condition, SeverityProfile, VitalShift

ALLERGIES: tuple[tuple[str, str, float], ...] = (
    ("penicillin", "hives", 0.08),
    ("sulfonamide_antibiotic", "rash", 0.03),
    ("nsaid", "wheeze", 0.02),
    ("opioid", "itching", 0.02),
    ("latex", "hives", 0.01),
)
"""Substance, reaction, share of patients. Penicillin: JAMA 2019;321:188 (about 10 % report it); others: rounded from
Zhou et al., Allergy 2016;71:1305."""


def sample_patient(
    rng: np.random.Generator,
    condition: str,
    *,
    patient_id: str = "P1",
    severity: str | None = None,
    kb: KnowledgeBase | None = None,
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
        allergies: Fixes the allergies; drawn when None.
        persona: Fixes how the patient talks; drawn when None.

    Raises:
        NotRegistered: unknown condition; names the nearest.
    """
    kb = kb or load()
    profile = kb.condition(condition)
    severity = severity or _weighted(rng, {name: item.weight for name, item in profile.severities.items()})
    level = profile.severities[severity]
    age = _age(rng, *profile.who.age_years)
    sex = "female" if rng.random() < profile.who.female_share else "male"
    weight, height = body_size(rng, sex, age)
    illnesses = _comorbidities(rng, kb, profile, age)
    pregnancy = profile.who.pregnancy_weeks
    return Chart(
        patient_id=patient_id,
        age_years=age,
        sex=sex,  # type: ignore[arg-type]
        weight_kg=weight,
        height_cm=height,
        pregnancy_weeks=round(float(rng.uniform(*pregnancy)), 1) if pregnancy else None,
        chief_complaint=str(rng.choice(profile.chief_complaints)),
        comorbidities=illnesses,
        condition=condition,
        severity=severity,
        vital_signs=_trajectory(rng, level, age),
        findings=_findings(rng, kb, profile),
        lab_results=_lab_results(rng, kb, level, illnesses, sex, age),
        studies={name: Study(id=name, report=report) for name, report in level.studies.items()},
        medications=_medications(rng, kb, illnesses),
        allergies=_allergies(rng) if allergies is None else allergies,
        persona=persona or _persona(rng, age, level),
    )


def _weighted(rng: np.random.Generator, weights: Mapping[str, float]) -> str:
    values = np.array(list(weights.values()), dtype=float)
    return str(rng.choice(list(weights), p=values / values.sum()))


def _age(rng: np.random.Generator, youngest: float, oldest: float) -> float:
    age = float(rng.uniform(youngest, oldest))
    return round(age, 3) if age < 1 else round(age, 1) if age < 5 else float(int(age))


def _comorbidities(rng: np.random.Generator, kb: KnowledgeBase, profile: Condition, age: float) -> tuple[str, ...]:
    """Draw long-standing illnesses: those the condition brings, and others at their prevalence for age."""
    band = 0 if age < 45 else 1 if age < 65 else 2
    found = []
    for name, illness in kb.comorbidities.items():
        chance = illness.prevalence[band] if age >= 18 else 0.0
        if rng.random() < max(chance, profile.who.comorbidities.get(name, 0.0)):
            found.append(name)
    if "type_1_diabetes" in found and "type_2_diabetes" in found:
        found.remove("type_2_diabetes" if "type_1_diabetes" in profile.who.comorbidities else "type_1_diabetes")
    return tuple(found)


def _medications(rng: np.random.Generator, kb: KnowledgeBase, illnesses: tuple[str, ...]) -> tuple[Medication, ...]:
    drugs: dict[str, str] = {}
    for illness in illnesses:
        for drug, share in kb.comorbidities[illness].medicines.items():
            if rng.random() < share and not (
                drug in ("warfarin", "apixaban") and {"warfarin", "apixaban"} & set(drugs)
            ):
                drugs.setdefault(drug, illness)
    made = []
    for drug, illness in drugs.items():
        dose = kb.drugs[drug].usual_dose if drug in kb.drugs else None
        if dose is not None:
            made.append(
                Medication(drug=drug, dose_mg=dose.dose_mg, times_per_day=dose.times_per_day, indication=illness)
            )
    return tuple(made)


def _allergies(rng: np.random.Generator) -> tuple[Allergy, ...]:
    return tuple(
        Allergy(substance=substance, reaction=reaction, severity="moderate")
        for substance, reaction, share in ALLERGIES
        if rng.random() < share
    )


def _persona(rng: np.random.Generator, age: float, level: SeverityProfile) -> Persona:
    style = str(rng.choice(["plain", "terse", "anxious", "chatty"], p=[0.6, 0.2, 0.15, 0.05]))
    relative = age < 12 or level.vitals.gcs <= 12
    return Persona(style="plain" if relative else style, informant="relative" if relative else "patient")  # type: ignore[arg-type]


def _trajectory(rng: np.random.Generator, level: SeverityProfile, age: float) -> tuple[tuple[float, VitalSigns], ...]:
    vital_signs = [(0.0, _vital_signs(rng, level.vitals, age))]
    if level.deterioration is not None and level.deteriorates_after_minutes is not None:
        vital_signs.append((level.deteriorates_after_minutes, _vital_signs(rng, level.deterioration, age)))
    return tuple(vital_signs)


def _vital_signs(rng: np.random.Generator, shift: VitalShift, age: float) -> VitalSigns:
    """Move normal vital signs for age by the profile's shift, and keep them within what a body can show."""
    normal = normal_vital_signs(age)
    pace = normal.heart_rate_per_min / 76  # children's rates move in proportion

    def draw(mean_sd: tuple[float, float], base: float, scale: float, low: float, high: float) -> int:
        return round(float(np.clip(base + scale * (mean_sd[0] + mean_sd[1] * rng.standard_normal()), low, high)))

    systolic = draw(shift.systolic_bp_mmhg, normal.systolic_bp_mmhg, normal.systolic_bp_mmhg / 124, 50, 250)
    low, high = shift.pain_0_10
    temperature = 36.8 + shift.temperature_c[0] + shift.temperature_c[1] * rng.standard_normal()
    glucose = shift.glucose_mg_dl[0] + shift.glucose_mg_dl[1] * rng.standard_normal()
    return VitalSigns(
        temperature_c=round(float(np.clip(temperature, 33, 42)), 1),
        heart_rate_per_min=draw(shift.heart_rate_per_min, normal.heart_rate_per_min, min(pace, 1.3), 30, 230),
        respiratory_rate_per_min=draw(
            shift.respiratory_rate_per_min, normal.respiratory_rate_per_min, min(pace, 1.3), 4, 80
        ),
        systolic_bp_mmhg=systolic,
        diastolic_bp_mmhg=round(systolic * float(rng.uniform(0.58, 0.68))),
        spo2_percent=draw(shift.spo2_percent, 98, 1.0, 65, 100),
        gcs=shift.gcs,
        pain_0_10=int(rng.integers(low, high + 1)),
        glucose_mg_dl=float(round(np.clip(glucose, 15, 900))),
    )


def _findings(rng: np.random.Generator, kb: KnowledgeBase, profile: Condition) -> tuple[Finding, ...]:
    """Draw symptoms and signs; key findings that fail to show are kept as negatives, never left out."""
    made = []
    for name, chance in profile.symptoms.items():
        symptom, present = kb.symptoms[name], bool(rng.random() < chance)
        made.append(
            Finding(
                id=name,
                reveal="ask",
                present=present,
                text=symptom.text if present else f"no {symptom.text}",
                lay=symptom.lay if present else symptom.absent,
                topics=symptom.topics,
            )
        )
    for name, chance in profile.signs.items():
        sign, present = kb.signs[name], bool(rng.random() < chance)
        text = sign.text if present else sign.absent
        made.append(Finding(id=name, reveal="examine", present=present, text=text, system=sign.system))
    return tuple(made)


def _lab_results(
    rng: np.random.Generator,
    kb: KnowledgeBase,
    level: SeverityProfile,
    illnesses: tuple[str, ...],
    sex: str,
    age: float,
) -> dict[str, LabResult]:
    """Draw every analyte: abnormal ones by severity, renal ones by kidney disease, the rest within limits."""
    results = {}
    for name, analyte in kb.analytes.items():
        if name in level.labs:
            mean, sd = level.labs[name]
            value = max(0.0, mean + sd * float(rng.standard_normal()))
        else:
            value = _normal(rng, analyte, sex, age)
        results[name] = LabResult(analyte=name, value=round(value, analyte.decimals), unit=analyte.unit)
    egfr = next((kb.comorbidities[i].egfr for i in illnesses if kb.comorbidities[i].egfr), None)
    if egfr is not None and "creatinine" not in level.labs:
        wanted = float(rng.uniform(*egfr))
        results["creatinine"] = LabResult(
            analyte="creatinine", value=creatinine_for_egfr(wanted, sex, age), unit="mg/dL"
        )
        urea = round(float(rng.uniform(28, 60)))
        results["urea_nitrogen"] = LabResult(analyte="urea_nitrogen", value=urea, unit="mg/dL")
    return results


def _normal(rng: np.random.Generator, analyte: Analyte, sex: str, age: float) -> float:
    limits = analyte.reference_range(sex, age)
    middle, spread = (limits.low + limits.high) / 2, (limits.high - limits.low) / 5
    return float(np.clip(middle + spread * rng.standard_normal(), limits.low, limits.high))


def creatinine_for_egfr(egfr: float, sex: str, age_years: float) -> float:
    """Return the creatinine in mg/dL at which CKD-EPI 2021 gives `egfr` (ml/min/1.73 m2), for values below 90.

    Source: Inker et al., N Engl J Med 2021;385:1737, solved for creatinine above kappa.
    """
    kappa, factor = (0.7, 1.012) if sex == "female" else (0.9, 1.0)
    ratio = (egfr / (142 * 0.9938**age_years * factor)) ** (-1 / 1.2)
    return round(kappa * ratio, 2)
