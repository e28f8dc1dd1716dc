"""APACHE II: severity on the first day of intensive care."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

ChronicHealth = Literal["none", "elective_postoperative", "nonoperative_or_emergency_postoperative"]
Bands = Sequence[tuple[float, int]]
"""(value from which on, points), falling; the points below the last limit come separately."""

_TEMPERATURE: tuple[Bands, int] = (((41, 4), (39, 3), (38.5, 1), (36, 0), (34, 1), (32, 2), (30, 3)), 4)
_MAP: tuple[Bands, int] = (((160, 4), (130, 3), (110, 2), (70, 0), (50, 2)), 4)
_HEART: tuple[Bands, int] = (((180, 4), (140, 3), (110, 2), (70, 0), (55, 2), (40, 3)), 4)
_BREATHS: tuple[Bands, int] = (((50, 4), (35, 3), (25, 1), (12, 0), (10, 1), (6, 2)), 4)
_GRADIENT: tuple[Bands, int] = (((500, 4), (350, 3), (200, 2)), 0)
_PH: tuple[Bands, int] = (((7.7, 4), (7.6, 3), (7.5, 1), (7.33, 0), (7.25, 2), (7.15, 3)), 4)
_SODIUM: tuple[Bands, int] = (((180, 4), (160, 3), (155, 2), (150, 1), (130, 0), (120, 2), (111, 3)), 4)
_POTASSIUM: tuple[Bands, int] = (((7, 4), (6, 3), (5.5, 1), (3.5, 0), (3, 1), (2.5, 2)), 4)
_CREATININE: tuple[Bands, int] = (((3.5, 4), (2, 3), (1.5, 2), (0.6, 0)), 2)
_HEMATOCRIT: tuple[Bands, int] = (((60, 4), (50, 2), (46, 1), (30, 0), (20, 2)), 4)
_WBC: tuple[Bands, int] = (((40, 4), (20, 2), (15, 1), (3, 0), (1, 2)), 4)
_AGE: tuple[Bands, int] = (((75, 6), (65, 5), (55, 3), (45, 2)), 0)
_CHRONIC = {"none": 0, "elective_postoperative": 2, "nonoperative_or_emergency_postoperative": 5}
WATER_VAPOUR_AND_PRESSURE_MMHG = 713
"""Sea level, 760 less 47 mmHg of water vapour."""


def alveolar_arterial_gradient_mmhg(pao2_mmhg: float, fio2: float, paco2_mmhg: float) -> float:
    """Return the alveolar-arterial oxygen gradient at sea level, respiratory quotient 0.8."""
    return fio2 * WATER_VAPOUR_AND_PRESSURE_MMHG - paco2_mmhg / 0.8 - pao2_mmhg


def apache2_parts(
    *,
    age_years: float,
    temperature_c: float,
    map_mmhg: float,
    heart_rate_per_min: float,
    respiratory_rate_per_min: float,
    pao2_mmhg: float,
    fio2: float,
    paco2_mmhg: float,
    arterial_ph: float,
    sodium_mmol_l: float,
    potassium_mmol_l: float,
    creatinine_mg_dl: float,
    acute_kidney_failure: bool,
    hematocrit_percent: float,
    wbc_10_9_l: float,
    gcs: int,
    chronic_health: str = "none",
) -> dict[str, int]:
    """Return the points of each variable.

    Source: Knaus et al., Crit Care Med 1985;13:818-829, table 1 and appendix. Oxygenation is judged by the gradient from
    FiO2 0.5 on and by PaO2 below; creatinine points are doubled in acute kidney failure.
    """
    return {
        "temperature": _points(round(temperature_c, 1), _TEMPERATURE),
        "map": _points(round(map_mmhg), _MAP),
        "heart_rate": _points(heart_rate_per_min, _HEART),
        "respiratory_rate": _points(respiratory_rate_per_min, _BREATHS),
        "oxygenation": oxygenation_points(pao2_mmhg, fio2, paco2_mmhg),
        "ph": _points(round(arterial_ph, 2), _PH),
        "sodium": _points(sodium_mmol_l, _SODIUM),
        "potassium": _points(potassium_mmol_l, _POTASSIUM),
        "creatinine": _points(creatinine_mg_dl, _CREATININE) * (2 if acute_kidney_failure else 1),
        "hematocrit": _points(hematocrit_percent, _HEMATOCRIT),
        "wbc": _points(wbc_10_9_l, _WBC),
        "gcs": 15 - gcs,
        "age": _points(age_years, _AGE),
        "chronic_health": _CHRONIC[chronic_health],
    }


def oxygenation_points(pao2_mmhg: float, fio2: float, paco2_mmhg: float) -> int:
    """Return the points for oxygenation of one blood gas."""
    if fio2 >= 0.5:
        return _points(alveolar_arterial_gradient_mmhg(pao2_mmhg, fio2, paco2_mmhg), _GRADIENT)
    return 0 if pao2_mmhg > 70 else 1 if pao2_mmhg > 60 else 3 if pao2_mmhg >= 55 else 4


def _points(value: float, table: tuple[Bands, int]) -> int:
    return next((points for from_value, points in table[0] if value >= from_value), table[1])


@tool()
def apache2(
    age_years: Annotated[float, Field(ge=16, le=120)],
    temperature_c: Annotated[float, Field(ge=25, le=45)],
    map_mmhg: Annotated[float, Field(ge=10, le=250)],
    heart_rate_per_min: Annotated[float, Field(ge=0, le=300)],
    respiratory_rate_per_min: Annotated[float, Field(ge=0, le=90)],
    pao2_mmhg: Annotated[float, Field(ge=20, le=700)],
    fio2: Annotated[float, Field(ge=0.21, le=1.0)],
    paco2_mmhg: Annotated[float, Field(ge=5, le=200)],
    arterial_ph: Annotated[float, Field(ge=6.5, le=8.0)],
    sodium_mmol_l: Annotated[float, Field(ge=90, le=200)],
    potassium_mmol_l: Annotated[float, Field(ge=1, le=12)],
    creatinine_mg_dl: Annotated[float, Field(ge=0.1, le=25)],
    acute_kidney_failure: bool,
    hematocrit_percent: Annotated[float, Field(ge=5, le=75)],
    wbc_10_9_l: Annotated[float, Field(ge=0, le=500)],
    gcs: Annotated[int, Field(ge=3, le=15)],
    chronic_health: ChronicHealth = "none",
) -> str:
    """Score the first 24 hours of intensive care with APACHE II, 0 to 71; of two extremes give the one that scores more.

    Args:
        age_years: Age.
        temperature_c: Worst core temperature.
        map_mmhg: Worst mean arterial pressure.
        heart_rate_per_min: Worst heart rate.
        respiratory_rate_per_min: Worst respiratory rate.
        pao2_mmhg: Of the worst gas.
        fio2: Of the worst gas, 0.21 to 1.
        paco2_mmhg: Of the worst gas.
        arterial_ph: Worst pH.
        sodium_mmol_l: Worst sodium.
        potassium_mmol_l: Worst potassium.
        creatinine_mg_dl: Worst creatinine.
        acute_kidney_failure: True doubles the points of creatinine.
        hematocrit_percent: Worst haematocrit.
        wbc_10_9_l: Worst white cells in 10^9/L.
        gcs: Lowest Glasgow Coma Scale.
        chronic_health: Severe organ insufficiency or immunosuppression before this illness, by kind of admission.
    """
    parts = apache2_parts(
        age_years=age_years, temperature_c=temperature_c, map_mmhg=map_mmhg, heart_rate_per_min=heart_rate_per_min,
        respiratory_rate_per_min=respiratory_rate_per_min, pao2_mmhg=pao2_mmhg, fio2=fio2, paco2_mmhg=paco2_mmhg,
        arterial_ph=arterial_ph, sodium_mmol_l=sodium_mmol_l, potassium_mmol_l=potassium_mmol_l,
        creatinine_mg_dl=creatinine_mg_dl, acute_kidney_failure=acute_kidney_failure,
        hematocrit_percent=hematocrit_percent, wbc_10_9_l=wbc_10_9_l, gcs=gcs, chronic_health=chronic_health,
    )  # fmt: skip
    counted = ", ".join(f"{name} {points}" for name, points in parts.items() if points)
    return f"APACHE II {sum(parts.values())} ({counted or 'no points'})"
