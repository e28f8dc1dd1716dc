"""MELD 3.0: 90-day mortality of advanced liver disease."""

import math
from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool


def meld_3(
    sex: str,
    bilirubin_mg_dl: float,
    sodium_mmol_l: float,
    inr: float,
    creatinine_mg_dl: float,
    albumin_g_dl: float,
    on_dialysis: bool = False,
) -> int:
    """Return MELD 3.0 for an adult, 6 to 40.

    Bilirubin and INR count from 1.0, creatinine from 1.0 to 3.0 mg/dL (3.0 on dialysis), sodium from 125 to 137 mmol/L, albumin
    from 1.5 to 3.5 g/dL.
    Source: Kim et al., Gastroenterology 2021;161:1887-1895; limits as in OPTN policy 9, 2023.
    """
    bilirubin, ratio = math.log(max(bilirubin_mg_dl, 1.0)), math.log(max(inr, 1.0))
    creatinine = math.log(3.0 if on_dialysis else min(max(creatinine_mg_dl, 1.0), 3.0))
    sodium = 137 - min(max(sodium_mmol_l, 125), 137)
    albumin = 3.5 - min(max(albumin_g_dl, 1.5), 3.5)
    score = (
        1.33 * (sex == "female")
        + 4.56 * bilirubin
        + 0.82 * sodium
        - 0.24 * sodium * bilirubin
        + 9.09 * ratio
        + 11.14 * creatinine
        + 1.85 * albumin
        - 1.83 * albumin * creatinine
        + 6
    )
    return min(40, max(6, math.floor(score + 0.5)))


@tool()
def meld_3_0(
    sex: Literal["female", "male"],
    bilirubin_mg_dl: Annotated[float, Field(ge=0.1, le=80)],
    sodium_mmol_l: Annotated[float, Field(ge=90, le=190)],
    inr: Annotated[float, Field(ge=0.5, le=20)],
    creatinine_mg_dl: Annotated[float, Field(ge=0.1, le=25)],
    albumin_g_dl: Annotated[float, Field(ge=0.5, le=7)],
    on_dialysis: bool = False,
) -> str:
    """Compute an adult's MELD 3.0 (2021), 6 to 40; higher is worse.

    Args:
        sex: Sex.
        bilirubin_mg_dl: Total bilirubin in mg/dL.
        sodium_mmol_l: Sodium in mmol/L.
        inr: INR.
        creatinine_mg_dl: Creatinine in mg/dL.
        albumin_g_dl: Albumin in g/dL.
        on_dialysis: Dialysis twice or more in the past week.
    """
    return f"MELD 3.0 {meld_3(sex, bilirubin_mg_dl, sodium_mmol_l, inr, creatinine_mg_dl, albumin_g_dl, on_dialysis)}"
