"""Draws laboratory results that agree with the disease, the patient's illnesses and medicines, and one another."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from healthgym.world import LabResult

from . import KnowledgeBase
from .lots import Lots
from .schema import Analyte

# hCG in mIU/mL up to so many weeks since the last period: bounds of the order of magnitude that Cole, Reprod Biol Endocrinol
# 2010;8:102 reports by week; a design choice of the simulated population.
_HCG: tuple[tuple[float, float, float], ...] = (
    (4, 50, 400),
    (5, 100, 5_000),
    (6, 1_500, 50_000),
    (8, 10_000, 150_000),
    (12, 30_000, 200_000),
    (16, 20_000, 150_000),
    (42, 5_000, 80_000),
)
# First to third trimester, means within the ranges of Abbassi-Ghanavati et al., Obstet Gynecol 2009;114:1326.
_PREGNANCY = {"creatinine": (0.6, 0.06), "hemoglobin": (12.0, 0.5), "albumin": (3.3, 0.2)}
# Points of the oxyhaemoglobin dissociation curve: SpO2 in % and PaO2 in mmHg (Severinghaus, J Appl Physiol 1979;46:599).
_SATURATION, _PO2 = (65, 70, 75, 80, 85, 90, 92, 94, 96, 98, 100), (34, 37, 40, 45, 50, 60, 64, 71, 81, 95, 104)


def lab_results(
    rng: np.random.Generator,
    kb: KnowledgeBase,
    *,
    disease: Mapping[str, tuple[float, float]],
    illnesses: Sequence[str],
    medicines: Sequence[str],
    sex: str,
    age_years: float,
    pregnancy_weeks: float | None,
    glucose_mg_dl: float,
    spo2_percent: float,
) -> dict[str, LabResult]:
    """Draw a result for every analyte, rounded to its precision.

    Disease sets a value before illnesses, illnesses before medicines, medicines before pregnancy; the rest is normal for age
    and sex. Glucose follows the capillary value, and values bound by physiology follow from one another.

    Args:
        rng: Source of all randomness.
        kb: Facts to draw from.
        disease: Abnormal analytes of the severity, mean and standard deviation.
        illnesses: Ids of long-standing illnesses.
        medicines: Drug ids taken.
        sex: Female or male.
        age_years: Age.
        pregnancy_weeks: Weeks of gestation, None when not pregnant.
        glucose_mg_dl: Capillary glucose at arrival.
        spo2_percent: Oxygen saturation at arrival.
    """
    moved: dict[str, tuple[float, float]] = dict(_PREGNANCY) if pregnancy_weeks else {}
    for medicine in medicines:
        moved |= kb.medicine_labs[medicine].labs if medicine in kb.medicine_labs else {}
    for illness in illnesses:
        moved |= kb.comorbidities[illness].labs
    moved |= disease
    lots = Lots(rng)
    noise = {name: lots.normal(name) for name in kb.analytes}
    values = {
        name: max(0.0, moved[name][0] + moved[name][1] * noise[name])
        if name in moved
        else _normal(noise[name], analyte, sex, age_years)
        for name, analyte in kb.analytes.items()
    }
    values["glucose"] = glucose_mg_dl * (1 + 0.03 * noise["glucose"])
    if "beta_hcg" not in disease:
        values["beta_hcg"] = _hcg(rng, pregnancy_weeks)
    _chronic_kidneys(rng, kb, values, illnesses, sex, age_years)
    _acid_base(values, fixed=moved, spo2_percent=spo2_percent)
    _blood_count(values, moved)
    values["osmolality"] = (
        2 * values["sodium"] + values["glucose"] / 18 + values["urea_nitrogen"] / 2.8 + noise["osmolality"]
    )
    values["bilirubin_direct"] = min(values["bilirubin_direct"], 0.5 * values["bilirubin_total"])
    return {
        name: LabResult(analyte=name, value=round(value, kb.analytes[name].decimals), unit=kb.analytes[name].unit)
        for name, value in values.items()
    }


def creatinine_for_egfr(egfr: float, sex: str, age_years: float) -> float:
    """Return the creatinine in mg/dL at which CKD-EPI 2021 gives `egfr` (ml/min/1.73 m2), for values below 90.

    Source: Inker et al., N Engl J Med 2021;385:1737, solved for creatinine above kappa.
    """
    kappa, factor = (0.7, 1.012) if sex == "female" else (0.9, 1.0)
    ratio = (egfr / (142 * 0.9938**age_years * factor)) ** (-1 / 1.2)
    return round(kappa * ratio, 2)


def _normal(noise: float, analyte: Analyte, sex: str, age: float) -> float:
    """Return a value within the reference limits; none of a drug in someone who does not take it."""
    if analyte.drug:
        return 0.0
    limits = analyte.reference_range(sex, age)
    middle, spread = (limits.low + limits.high) / 2, (limits.high - limits.low) / 5
    return min(max(middle + spread * noise, limits.low), limits.high)


def _hcg(rng: np.random.Generator, weeks: float | None) -> float:
    if weeks is None:
        return float(rng.uniform(0, 2))
    low, high = next((low, high) for until, low, high in _HCG if weeks <= until)
    return math.exp(float(rng.uniform(math.log(low), math.log(high))))


def _chronic_kidneys(
    rng: np.random.Generator,
    kb: KnowledgeBase,
    values: dict[str, float],
    illnesses: Sequence[str],
    sex: str,
    age: float,
) -> None:
    """Raise creatinine and urea to what the chronic illness brings; an acute rise above that stays."""
    egfr = next((kb.comorbidities[name].egfr for name in illnesses if kb.comorbidities[name].egfr), None)
    if egfr is None:
        return
    wanted = float(rng.uniform(*egfr))
    values["creatinine"] = max(values["creatinine"], creatinine_for_egfr(wanted, sex, age))
    values["urea_nitrogen"] = max(values["urea_nitrogen"], min(90.0, 1400 / wanted) * float(rng.uniform(0.8, 1.1)))


def _acid_base(values: dict[str, float], *, fixed: Mapping[str, tuple[float, float]], spo2_percent: float) -> None:
    """Bind pH, pCO2 and bicarbonate by Henderson-Hasselbalch (pK 6.1, solubility 0.0307 mmol/L/mmHg).

    Lactate above normal lowers bicarbonate one for one, and pCO2 falls with it as in Winters' formula, unless a profile says
    otherwise. Arterial pH is 0.03 above venous (Kelly et al., Emerg Med J 2001;18:340); arterial pCO2 is taken 5 mmHg lower.
    """
    excess = max(0.0, values["lactate"] - 2.0)
    if excess and "bicarbonate" not in fixed:
        values["bicarbonate"] = max(6.0, values["bicarbonate"] - excess)
    if "ph_venous" in fixed and "pco2_venous" in fixed:
        values["bicarbonate"] = 0.0307 * values["pco2_venous"] * 10 ** (values["ph_venous"] - 6.1)
    elif "ph_venous" in fixed:
        values["pco2_venous"] = values["bicarbonate"] / (0.0307 * 10 ** (values["ph_venous"] - 6.1))
    else:
        if "pco2_venous" not in fixed:
            values["pco2_venous"] = 1.5 * values["bicarbonate"] + 8
        values["ph_venous"] = 6.1 + math.log10(values["bicarbonate"] / (0.0307 * values["pco2_venous"]))
    values["ph_arterial"] = values["ph_venous"] + 0.03
    values["pco2_arterial"] = values["pco2_venous"] - 5
    values["po2_arterial"] = float(np.interp(spo2_percent, _SATURATION, _PO2))


def _blood_count(values: dict[str, float], fixed: Mapping[str, tuple[float, float]]) -> None:
    """Keep the haematocrit at three times haemoglobin, and the kinds of white cells within their sum."""
    values["hematocrit"] = 3 * values["hemoglobin"]
    if "wbc" in fixed and "neutrophils" not in fixed:
        values["neutrophils"] = 0.8 * values["wbc"]
    rest = values["wbc"] - values["neutrophils"] - values["eosinophils"]
    if values["lymphocytes"] > rest:
        values["neutrophils"] = (
            min(values["neutrophils"], 0.6 * values["wbc"]) if "wbc" not in fixed else values["neutrophils"]
        )
        values["lymphocytes"] = 0.9 * (values["wbc"] - values["neutrophils"] - values["eosinophils"])
