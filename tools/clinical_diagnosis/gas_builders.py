"""Results that show one disorder of acid and base, salt, calcium or gas exchange, with everything that belongs to it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from healthgym.tasks.families import Draw

from ..scores.alveolar_gradient import SEA_LEVEL_MMHG, WATER_VAPOUR_MMHG, expected_gradient_mmhg
from ..scores.anion_gap import albumin_corrected, anion_gap_mmol_l

# Expected compensation: Berend, de Vries and Gans, N Engl J Med 2014;371:1434-1445.
NORMAL_BICARBONATE, NORMAL_PCO2 = 24, 40


@dataclass(frozen=True)
class Results:
    """What the laboratory prints, by analyte, and which capillary glucose and saturation belong to it."""

    labs: Mapping[str, float]
    glucose_mg_dl: float | None = None
    spo2_percent: int | None = None


def winters_pco2(bicarbonate_mmol_l: float) -> float:
    """Return the pCO2 in mmHg expected in metabolic acidosis: 1.5 x bicarbonate + 8, give or take 2."""
    return 1.5 * bicarbonate_mmol_l + 8


def saturation_percent(po2_mmhg: float) -> int:
    """Return the saturation at an oxygen pressure. Source: Severinghaus, J Appl Physiol 1979;46:599."""
    return round(100 / (23_400 / (po2_mmhg**3 + 150 * po2_mmhg) + 1))


def _whole(draw: Draw, low: int, high: int) -> int:
    return int(draw.rng.integers(low, high + 1))


def _gas(bicarbonate: int, pco2: int, gap: float, sodium: int, albumin: float) -> Results:
    """Return gas and salts at an albumin-corrected gap; chloride follows from the rest."""
    chloride = round(sodium - bicarbonate - (gap - 2.5 * (4.0 - albumin)))
    ph = 6.1 + math.log10(bicarbonate / (0.0307 * pco2))
    alveolar = 0.21 * (SEA_LEVEL_MMHG - WATER_VAPOUR_MMHG) - pco2 / 0.8
    po2 = round(max(40.0, alveolar - 12))
    labs = {
        "bicarbonate": bicarbonate, "pco2_arterial": pco2, "ph_arterial": ph, "sodium": sodium, "chloride": chloride,
        "albumin": albumin, "po2_arterial": po2, "pco2_venous": pco2 + 5, "ph_venous": ph - 0.03,
    }  # fmt: skip
    return Results(labs, spo2_percent=saturation_percent(po2))


def _albumin(draw: Draw, is_low: bool) -> float:
    return round(float(draw.rng.uniform(1.8, 2.8)) if is_low else 4.0, 1)


def high_gap(draw: Draw, low_albumin: bool, age_years: float) -> Results:
    """High-gap metabolic acidosis with the expected breathing; delta ratio 0.9 to 1.5."""
    bicarbonate = _whole(draw, 8, 17)
    gap = 12 + (24 - bicarbonate) * float(draw.rng.uniform(0.95, 1.45))
    return _gas(bicarbonate, round(winters_pco2(bicarbonate)), gap, _whole(draw, 134, 143), _albumin(draw, low_albumin))


def normal_gap(draw: Draw, low_albumin: bool, age_years: float) -> Results:
    """Metabolic acidosis with a gap of 7 to 11 and the expected breathing."""
    bicarbonate = _whole(draw, 11, 17)
    gap = float(draw.rng.uniform(7.5, 10.8))
    return _gas(bicarbonate, round(winters_pco2(bicarbonate)), gap, _whole(draw, 134, 143), _albumin(draw, low_albumin))


def alkalosis(draw: Draw, low_albumin: bool, age_years: float) -> Results:
    """Metabolic alkalosis: pCO2 rises by 0.7 mmHg for each mmol/L of bicarbonate."""
    bicarbonate = _whole(draw, 33, 41)
    pco2 = round(NORMAL_PCO2 + 0.7 * (bicarbonate - NORMAL_BICARBONATE))
    return _gas(bicarbonate, pco2, float(draw.rng.uniform(8, 11)), _whole(draw, 136, 143), _albumin(draw, low_albumin))


def acute_retention(draw: Draw, low_albumin: bool, age_years: float) -> Results:
    """Acute respiratory acidosis: bicarbonate rises by 1 mmol/L for each 10 mmHg."""
    pco2 = _whole(draw, 62, 85)
    bicarbonate = round(NORMAL_BICARBONATE + (pco2 - NORMAL_PCO2) / 10)
    return _gas(bicarbonate, pco2, float(draw.rng.uniform(8, 11)), _whole(draw, 136, 143), _albumin(draw, low_albumin))


def chronic_retention(draw: Draw, low_albumin: bool, age_years: float) -> Results:
    """Chronic respiratory acidosis: bicarbonate rises by 4 mmol/L for each 10 mmHg."""
    pco2 = _whole(draw, 54, 70)
    bicarbonate = round(NORMAL_BICARBONATE + 4 * (pco2 - NORMAL_PCO2) / 10)
    return _gas(bicarbonate, pco2, float(draw.rng.uniform(8, 11)), _whole(draw, 136, 143), _albumin(draw, low_albumin))


def acute_overbreathing(draw: Draw, low_albumin: bool, age_years: float) -> Results:
    """Acute respiratory alkalosis: bicarbonate falls by 2 mmol/L for each 10 mmHg."""
    pco2 = _whole(draw, 19, 29)
    bicarbonate = round(NORMAL_BICARBONATE - 2 * (NORMAL_PCO2 - pco2) / 10)
    return _gas(bicarbonate, pco2, float(draw.rng.uniform(8, 11)), _whole(draw, 136, 143), _albumin(draw, low_albumin))


def high_gap_with_alkalosis(draw: Draw, low_albumin: bool, age_years: float) -> Results:
    """High gap whose rise is more than twice the fall of bicarbonate: metabolic alkalosis besides."""
    bicarbonate = _whole(draw, 18, 20)
    gap = 12 + (24 - bicarbonate) * float(draw.rng.uniform(2.6, 3.4))
    return _gas(bicarbonate, round(winters_pco2(bicarbonate)), gap, _whole(draw, 134, 143), _albumin(draw, low_albumin))


def high_gap_with_overbreathing(draw: Draw, low_albumin: bool, age_years: float) -> Results:
    """High gap with a pCO2 well below the expected one: respiratory alkalosis besides."""
    bicarbonate = _whole(draw, 13, 17)
    gap = 12 + (24 - bicarbonate) * float(draw.rng.uniform(0.95, 1.45))
    pco2 = round(winters_pco2(bicarbonate)) - _whole(draw, 7, 10)
    return _gas(bicarbonate, pco2, gap, _whole(draw, 134, 143), _albumin(draw, low_albumin))


def shifted_sodium(draw: Draw, near: bool, age_years: float) -> Results:
    """Low sodium that a high glucose explains: corrected 137 mmol/L or more."""
    glucose = float(_whole(draw, 480, 760))
    sodium = math.ceil(137 - 1.6 * (glucose - 100) / 100) + (0 if near else 2)
    return Results({"sodium": min(sodium, 134), "glucose": glucose}, glucose_mg_dl=glucose)


def low_sodium(draw: Draw, near: bool, age_years: float) -> Results:
    """Low sodium that stays low after correction: 132 mmol/L at most."""
    glucose = float(_whole(draw, 220, 320) if near else _whole(draw, 85, 115))
    return Results({"sodium": _whole(draw, 117, 128), "glucose": glucose}, glucose_mg_dl=glucose)


def _calcium(draw: Draw, corrected: tuple[float, float], is_low: bool) -> Results:
    albumin = _albumin(draw, is_low)
    total = round(float(draw.rng.uniform(*corrected)) - 0.8 * (4.0 - albumin), 1)
    return Results({"calcium": total, "albumin": albumin})


def high_calcium(draw: Draw, low_albumin: bool, age_years: float) -> Results:
    """Corrected calcium of 10.8 to 12.4 mg/dL."""
    return _calcium(draw, (10.9, 12.4), low_albumin)


def low_calcium(draw: Draw, low_albumin: bool, age_years: float) -> Results:
    """Corrected calcium of 6.8 to 8.1 mg/dL."""
    return _calcium(draw, (6.8, 8.0), low_albumin)


def unremarkable_calcium(draw: Draw, low_albumin: bool, age_years: float) -> Results:
    """Corrected calcium of 9.2 to 9.8 mg/dL; the total is low when albumin is."""
    return _calcium(draw, (9.2, 9.8), low_albumin)


def _exchange(pco2: int, gradient: float) -> Results:
    po2 = round(0.21 * (SEA_LEVEL_MMHG - WATER_VAPOUR_MMHG) - pco2 / 0.8 - gradient)
    bicarbonate = round(NORMAL_BICARBONATE + max(0.0, pco2 - NORMAL_PCO2) / 10 - 2 * max(0.0, NORMAL_PCO2 - pco2) / 10)
    ph = 6.1 + math.log10(bicarbonate / (0.0307 * pco2))
    labs = {
        "pco2_arterial": pco2, "po2_arterial": po2, "bicarbonate": bicarbonate, "ph_arterial": ph, "pco2_venous": pco2 + 5,
        "ph_venous": ph - 0.03,
    }  # fmt: skip
    return Results(labs, spo2_percent=saturation_percent(po2))


def shallow_breathing(draw: Draw, near: bool, age_years: float) -> Results:
    """Low oxygen that a high pCO2 explains: gradient as expected for age."""
    return _exchange(_whole(draw, 58, 70), expected_gradient_mmhg(age_years) * float(draw.rng.uniform(0.6, 1.0)))


def poor_exchange(draw: Draw, near: bool, age_years: float) -> Results:
    """Gradient at least 18 mmHg above what is expected for age."""
    pco2 = _whole(draw, 44, 50) if near else _whole(draw, 28, 36)
    return _exchange(pco2, expected_gradient_mmhg(age_years) + float(draw.rng.uniform(18, 28)))


def gap_value(labs: Mapping[str, float]) -> float:
    """Return the albumin-corrected anion gap in mmol/L of printed results."""
    return albumin_corrected(anion_gap_mmol_l(labs["sodium"], labs["chloride"], labs["bicarbonate"]), labs["albumin"])


Build = Callable[[Draw, bool, float], Results]
DISORDERS: Mapping[str, tuple[str, tuple[tuple[str, Build], ...]]] = {
    "high_gap_metabolic_acidosis": ("gas", (("diabetic_ketoacidosis", high_gap), ("sepsis", high_gap))),
    "normal_gap_metabolic_acidosis": ("gas", (("gastroenteritis", normal_gap),)),
    "metabolic_alkalosis": ("gas", (("primary_aldosteronism", alkalosis),)),
    "acute_respiratory_acidosis": ("gas", (("opioid_overdose", acute_retention),)),
    "chronic_respiratory_acidosis": ("gas", (("copd_exacerbation", chronic_retention),)),
    "acute_respiratory_alkalosis": ("gas", (("panic_attack", acute_overbreathing),)),
    "high_gap_acidosis_and_metabolic_alkalosis": ("gas", (("diabetic_ketoacidosis", high_gap_with_alkalosis),)),
    "high_gap_acidosis_and_respiratory_alkalosis": ("gas", (("sepsis", high_gap_with_overbreathing),)),
    "translocational_hyponatraemia": ("sodium", (("hyperosmolar_hyperglycaemic_state", shifted_sodium),)),
    "hypotonic_hyponatraemia": ("sodium", (("siadh", low_sodium),)),
    "hypercalcaemia": ("calcium", (("primary_hyperparathyroidism", high_calcium), ("multiple_myeloma", high_calcium))),
    "hypocalcaemia": ("calcium", (("rhabdomyolysis", low_calcium),)),
    "normal_calcium": ("calcium", (("nephrotic_syndrome", unremarkable_calcium),)),
    "hypoventilation": ("exchange", (("opioid_overdose", shallow_breathing),)),
    "gas_exchange_defect": ("exchange", (("pneumonia", poor_exchange), ("pulmonary_embolism", poor_exchange))),
}
"""Disorder to the group of results it shows in, and the illnesses that bring it with how to build it."""
