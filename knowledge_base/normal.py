"""Normal vital signs and body size by age."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Normal:
    """Typical resting values at one age."""

    heart_rate_per_min: float
    respiratory_rate_per_min: float
    systolic_bp_mmhg: float


# Centres of the awake ranges in PALS (American Heart Association, 2020) up to 12 years; adults as in NEWS2's zero band.
_BY_AGE: tuple[tuple[float, Normal], ...] = (
    (0.25, Normal(140, 42, 74)),
    (1.0, Normal(130, 38, 86)),
    (3.0, Normal(112, 28, 94)),
    (6.0, Normal(100, 24, 99)),
    (12.0, Normal(88, 21, 108)),
    (18.0, Normal(80, 17, 117)),
    (200.0, Normal(76, 16, 124)),
)
# Median weight in kg and height in cm by age in years (WHO growth standards 2006; CDC growth charts 2000), rounded.
_AGES = (0, 0.25, 0.5, 1, 2, 3, 5, 7, 10, 12, 14, 16, 18)
_WEIGHT = {
    "male": (3.3, 6.4, 7.9, 9.6, 12.2, 14.3, 18.3, 23, 32, 40, 51, 61, 67),
    "female": (3.2, 5.8, 7.3, 8.9, 11.5, 13.9, 18.2, 23, 33, 42, 49, 54, 56),
}
_HEIGHT = {
    "male": (50, 61, 68, 76, 88, 96, 110, 122, 138, 149, 164, 173, 176),
    "female": (49, 60, 66, 74, 86, 95, 109, 121, 138, 151, 160, 162, 163),
}
_ADULT = {"male": (86.0, 176.0), "female": (73.0, 162.0)}


def normal_vital_signs(age_years: float) -> Normal:
    """Return typical resting vital signs at this age."""
    return next(normal for limit, normal in _BY_AGE if age_years < limit)


def body_size(rng: np.random.Generator, sex: str, age_years: float) -> tuple[float, float]:
    """Draw weight in kg and height in cm for sex and age."""
    if age_years < 18:
        weight = float(np.interp(age_years, _AGES, _WEIGHT[sex]))
        height = float(np.interp(age_years, _AGES, _HEIGHT[sex]))
        return round(weight * float(np.clip(rng.normal(1, 0.1), 0.75, 1.35)), 1), float(
            round(height * float(rng.normal(1, 0.03)))
        )
    weight, height = _ADULT[sex]
    return round(weight * float(np.clip(rng.normal(1, 0.17), 0.6, 1.6)), 1), float(
        round(height * float(rng.normal(1, 0.04)))
    )
