"""Alveolar-arterial oxygen gradient."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool

SEA_LEVEL_MMHG, WATER_VAPOUR_MMHG, RESPIRATORY_QUOTIENT = 760.0, 47.0, 0.8


def alveolar_gradient_mmhg(
    po2_arterial_mmhg: float,
    pco2_arterial_mmhg: float,
    inspired_oxygen_percent: float = 21.0,
    air_pressure_mmhg: float = SEA_LEVEL_MMHG,
) -> float:
    """Return alveolar less arterial oxygen in mmHg.

    Alveolar oxygen is FiO2 x (air pressure - 47) - PaCO2 / 0.8. Source: Fenn, Rahn and Otis, Am J Physiol 1946;146:637-653,
    in the common short form.
    """
    inspired = inspired_oxygen_percent / 100 * (air_pressure_mmhg - WATER_VAPOUR_MMHG)
    return inspired - pco2_arterial_mmhg / RESPIRATORY_QUOTIENT - po2_arterial_mmhg


def expected_gradient_mmhg(age_years: float) -> float:
    """Return the mean gradient for age on room air, 2.5 + 0.21 x years. Source: Mellemgaard, Acta Physiol Scand 1966;67:10."""
    return 2.5 + 0.21 * age_years


@tool()
def alveolar_arterial_gradient(
    po2_arterial_mmhg: Annotated[float, Field(ge=10, le=700)],
    pco2_arterial_mmhg: Annotated[float, Field(ge=5, le=150)],
    age_years: Annotated[float, Field(ge=0, le=110)],
    inspired_oxygen_percent: Annotated[float, Field(ge=21, le=100)] = 21.0,
) -> str:
    """Compute the alveolar-arterial oxygen gradient at sea level, beside what is expected for age on room air.

    Args:
        po2_arterial_mmhg: Arterial oxygen in mmHg.
        pco2_arterial_mmhg: Arterial carbon dioxide in mmHg.
        age_years: Age in years.
        inspired_oxygen_percent: Inspired oxygen in %; 21 is room air.
    """
    gradient = alveolar_gradient_mmhg(po2_arterial_mmhg, pco2_arterial_mmhg, inspired_oxygen_percent)
    return f"A-a gradient {gradient:.1f} mmHg (expected for age {expected_gradient_mmhg(age_years):.1f})"
