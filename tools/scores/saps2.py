"""SAPS II: severity on the first day of intensive care, with the mortality it predicts."""

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

Admission = Literal["scheduled_surgical", "medical", "unscheduled_surgical"]
Chronic = Literal["none", "metastatic_cancer", "haematological_malignancy", "aids"]
Bands = Sequence[tuple[float, int]]
"""(value below which, points), rising; the points above the last limit come separately."""

_AGE: tuple[Bands, int] = (((40, 0), (60, 7), (70, 12), (75, 15), (80, 16)), 18)
_HEART: tuple[Bands, int] = (((40, 11), (70, 2), (120, 0), (160, 4)), 7)
_SYSTOLIC: tuple[Bands, int] = (((70, 13), (100, 5), (200, 0)), 2)
_RATIO: tuple[Bands, int] = (((100, 11), (200, 9)), 6)
_URINE: tuple[Bands, int] = (((500, 11), (1000, 4)), 0)
_UREA: tuple[Bands, int] = (((28, 0), (84, 6)), 10)
_WBC: tuple[Bands, int] = (((1, 12), (20, 0)), 3)
_POTASSIUM: tuple[Bands, int] = (((3.0, 3), (5.0, 0)), 3)
_SODIUM: tuple[Bands, int] = (((125, 5), (145, 0)), 1)
_BICARBONATE: tuple[Bands, int] = (((15, 6), (20, 3)), 0)
_BILIRUBIN: tuple[Bands, int] = (((4.0, 0), (6.0, 4)), 9)
_GCS: tuple[Bands, int] = (((6, 26), (9, 13), (11, 7), (14, 5)), 0)
_ADMISSION = {"scheduled_surgical": 0, "medical": 6, "unscheduled_surgical": 8}
_CHRONIC = {"none": 0, "metastatic_cancer": 9, "haematological_malignancy": 10, "aids": 17}


def saps2_parts(
    *,
    age_years: float,
    heart_rate_per_min: float,
    systolic_bp_mmhg: float,
    temperature_c: float,
    pao2_fio2_mmhg: float | None,
    urine_ml_day: float,
    urea_nitrogen_mg_dl: float,
    wbc_10_9_l: float,
    potassium_mmol_l: float,
    sodium_mmol_l: float,
    bicarbonate_mmol_l: float,
    bilirubin_mg_dl: float,
    gcs: int,
    admission: str,
    chronic_disease: str = "none",
) -> dict[str, int]:
    """Return the points of each variable. `pao2_fio2_mmhg` is None unless ventilated or on CPAP.

    Source: Le Gall, Lemeshow and Saulnier, JAMA 1993;270:2957-2963, table 3.
    """
    return {
        "age": _points(age_years, _AGE),
        "heart_rate": _points(heart_rate_per_min, _HEART),
        "systolic_bp": _points(systolic_bp_mmhg, _SYSTOLIC),
        "temperature": 3 if round(temperature_c, 1) >= 39 else 0,
        "oxygenation": 0 if pao2_fio2_mmhg is None else _points(pao2_fio2_mmhg, _RATIO),
        "urine": _points(urine_ml_day, _URINE),
        "urea": _points(urea_nitrogen_mg_dl, _UREA),
        "wbc": _points(wbc_10_9_l, _WBC),
        "potassium": _points(potassium_mmol_l, _POTASSIUM),
        "sodium": _points(sodium_mmol_l, _SODIUM),
        "bicarbonate": _points(bicarbonate_mmol_l, _BICARBONATE),
        "bilirubin": _points(bilirubin_mg_dl, _BILIRUBIN),
        "gcs": _points(gcs, _GCS),
        "chronic_disease": _CHRONIC[chronic_disease],
        "admission": _ADMISSION[admission],
    }


def _points(value: float, table: tuple[Bands, int]) -> int:
    return next((points for below, points in table[0] if value < below), table[1])


def saps2_mortality(points: int) -> float:
    """Return the predicted hospital mortality, 0 to 1. Source: as `saps2_parts`, the published logit."""
    logit = -7.7631 + 0.0737 * points + 0.9971 * math.log(points + 1)
    return 1 / (1 + math.exp(-logit))


@tool()
def saps2(
    age_years: Annotated[float, Field(ge=16, le=120)],
    heart_rate_per_min: Annotated[float, Field(ge=0, le=300)],
    systolic_bp_mmhg: Annotated[float, Field(ge=0, le=300)],
    temperature_c: Annotated[float, Field(ge=25, le=45)],
    urine_ml_day: Annotated[float, Field(ge=0, le=20_000)],
    urea_nitrogen_mg_dl: Annotated[float, Field(ge=1, le=300)],
    wbc_10_9_l: Annotated[float, Field(ge=0, le=500)],
    potassium_mmol_l: Annotated[float, Field(ge=1, le=12)],
    sodium_mmol_l: Annotated[float, Field(ge=90, le=200)],
    bicarbonate_mmol_l: Annotated[float, Field(ge=1, le=60)],
    bilirubin_mg_dl: Annotated[float, Field(ge=0, le=80)],
    gcs: Annotated[int, Field(ge=3, le=15)],
    admission: Admission,
    chronic_disease: Chronic = "none",
    pao2_fio2_mmhg: Annotated[float, Field(ge=20, le=700)] | None = None,
) -> str:
    """Score the first 24 hours of intensive care with SAPS II, 0 to 163; of two extremes give the one that scores more.

    Args:
        age_years: Age.
        heart_rate_per_min: Worst heart rate.
        systolic_bp_mmhg: Worst systolic pressure.
        temperature_c: Highest temperature.
        urine_ml_day: Urine of the 24 hours.
        urea_nitrogen_mg_dl: Highest blood urea nitrogen.
        wbc_10_9_l: Worst white cells in 10^9/L.
        potassium_mmol_l: Worst potassium.
        sodium_mmol_l: Worst sodium.
        bicarbonate_mmol_l: Lowest bicarbonate.
        bilirubin_mg_dl: Highest bilirubin.
        gcs: Lowest Glasgow Coma Scale.
        admission: Kind of admission.
        chronic_disease: The worst chronic disease that counts.
        pao2_fio2_mmhg: Lowest PaO2/FiO2, only if ventilated or on CPAP.
    """
    parts = saps2_parts(
        age_years=age_years, heart_rate_per_min=heart_rate_per_min, systolic_bp_mmhg=systolic_bp_mmhg,
        temperature_c=temperature_c, pao2_fio2_mmhg=pao2_fio2_mmhg, urine_ml_day=urine_ml_day,
        urea_nitrogen_mg_dl=urea_nitrogen_mg_dl, wbc_10_9_l=wbc_10_9_l, potassium_mmol_l=potassium_mmol_l,
        sodium_mmol_l=sodium_mmol_l, bicarbonate_mmol_l=bicarbonate_mmol_l, bilirubin_mg_dl=bilirubin_mg_dl, gcs=gcs,
        admission=admission, chronic_disease=chronic_disease,
    )  # fmt: skip
    total = sum(parts.values())
    counted = ", ".join(f"{name} {points}" for name, points in parts.items() if points)
    return f"SAPS II {total}, predicted hospital mortality {saps2_mortality(total):.1%} ({counted or 'no points'})"
