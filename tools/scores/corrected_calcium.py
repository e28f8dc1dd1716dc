"""Calcium corrected for albumin."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool


def corrected_calcium_mg_dl(calcium_mg_dl: float, albumin_g_dl: float) -> float:
    """Return total calcium with 0.8 mg/dL added for each g/dL of albumin below 4.0.

    Source: Payne et al., Br Med J 1973;4:643-646, in conventional units.
    """
    return calcium_mg_dl + 0.8 * (4.0 - albumin_g_dl)


@tool()
def corrected_calcium(
    calcium_mg_dl: Annotated[float, Field(ge=2, le=25)], albumin_g_dl: Annotated[float, Field(ge=0.5, le=7)]
) -> str:
    """Correct total calcium for albumin: 0.8 mg/dL for each g/dL below 4 (Payne, 1973).

    Args:
        calcium_mg_dl: Total calcium in mg/dL.
        albumin_g_dl: Albumin in g/dL.
    """
    return f"corrected calcium {corrected_calcium_mg_dl(calcium_mg_dl, albumin_g_dl):.1f} mg/dL"
