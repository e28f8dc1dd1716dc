"""SOFA: how far six organ systems have failed."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool

Fio2 = Annotated[float, Field(ge=0.21, le=1.0)]


def mean_arterial_pressure_mmhg(systolic_bp_mmhg: float, diastolic_bp_mmhg: float) -> float:
    """Return the mean arterial pressure in mmHg, two thirds diastolic and one third systolic."""
    return (systolic_bp_mmhg + 2 * diastolic_bp_mmhg) / 3


def sofa_parts(
    *,
    pao2_mmhg: float,
    fio2: float,
    ventilated: bool,
    platelets_10_9_l: float,
    bilirubin_mg_dl: float,
    map_mmhg: float,
    gcs: int,
    creatinine_mg_dl: float,
    urine_ml_day: float | None = None,
    noradrenaline_ug_kg_min: float = 0.0,
    dopamine_ug_kg_min: float = 0.0,
    dobutamine: bool = False,
) -> dict[str, int]:
    """Return the points of each organ, 0 to 4.

    Source: Vincent et al., Intensive Care Med 1996;22:707-710, table 3 (original SOFA, not SOFA-2). Adrenaline counts as
    noradrenaline does. Respiration above 2 points needs respiratory support.
    """
    ratio = pao2_mmhg / fio2
    respiration = 2 if ratio < 300 else 1 if ratio < 400 else 0
    if ventilated and ratio < 200:
        respiration = 4 if ratio < 100 else 3
    if dopamine_ug_kg_min > 15 or noradrenaline_ug_kg_min > 0.1:
        circulation = 4
    elif dopamine_ug_kg_min > 5 or noradrenaline_ug_kg_min > 0:
        circulation = 3
    elif dopamine_ug_kg_min > 0 or dobutamine:
        circulation = 2
    else:
        circulation = int(map_mmhg < 70)
    kidneys = _from(creatinine_mg_dl, (1.2, 2.0, 3.5, 5.0))
    if urine_ml_day is not None:
        kidneys = max(kidneys, 4 if urine_ml_day < 200 else 3 if urine_ml_day < 500 else 0)
    return {
        "respiration": respiration,
        "coagulation": sum(platelets_10_9_l < limit for limit in (150, 100, 50, 20)),
        "liver": _from(bilirubin_mg_dl, (1.2, 2.0, 6.0, 12.0)),
        "cardiovascular": circulation,
        "neurological": sum(gcs < limit for limit in (15, 13, 10, 6)),
        "renal": kidneys,
    }


def _from(value: float, limits: tuple[float, ...]) -> int:
    """Return how many rising limits a value reaches, after rounding to the tenth that laboratories report."""
    return sum(round(value, 1) >= limit for limit in limits)


@tool()
def sofa(
    pao2_mmhg: Annotated[float, Field(ge=20, le=700)],
    fio2: Fio2,
    ventilated: bool,
    platelets_10_9_l: Annotated[float, Field(ge=0, le=2000)],
    bilirubin_mg_dl: Annotated[float, Field(ge=0, le=80)],
    map_mmhg: Annotated[float, Field(ge=10, le=250)],
    gcs: Annotated[int, Field(ge=3, le=15)],
    creatinine_mg_dl: Annotated[float, Field(ge=0.1, le=25)],
    urine_ml_day: Annotated[float, Field(ge=0, le=20_000)] | None = None,
    noradrenaline_ug_kg_min: Annotated[float, Field(ge=0, le=5)] = 0.0,
    dopamine_ug_kg_min: Annotated[float, Field(ge=0, le=50)] = 0.0,
    dobutamine: bool = False,
) -> str:
    """Score organ failure with SOFA (1996), 0 to 24, from the worst values of 24 hours.

    Args:
        pao2_mmhg: Arterial oxygen pressure of the gas with the lowest PaO2/FiO2.
        fio2: Inspired fraction of that gas, 0.21 to 1.
        ventilated: Mechanical ventilation or CPAP.
        platelets_10_9_l: Platelets in 10^9/L.
        bilirubin_mg_dl: Total bilirubin.
        map_mmhg: Lowest mean arterial pressure.
        gcs: Lowest Glasgow Coma Scale.
        creatinine_mg_dl: Serum creatinine.
        urine_ml_day: Urine of the 24 hours, if measured.
        noradrenaline_ug_kg_min: Noradrenaline or adrenaline dose.
        dopamine_ug_kg_min: Dopamine dose.
        dobutamine: Any dobutamine.
    """
    parts = sofa_parts(
        pao2_mmhg=pao2_mmhg, fio2=fio2, ventilated=ventilated, platelets_10_9_l=platelets_10_9_l,
        bilirubin_mg_dl=bilirubin_mg_dl, map_mmhg=map_mmhg, gcs=gcs, creatinine_mg_dl=creatinine_mg_dl,
        urine_ml_day=urine_ml_day, noradrenaline_ug_kg_min=noradrenaline_ug_kg_min,
        dopamine_ug_kg_min=dopamine_ug_kg_min, dobutamine=dobutamine,
    )  # fmt: skip
    return f"SOFA {sum(parts.values())}: " + ", ".join(f"{organ} {points}" for organ, points in parts.items())
