"""Anion gap: unmeasured acids in the blood, corrected for albumin, and the delta ratio."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool

NORMAL_GAP, NORMAL_BICARBONATE, NORMAL_ALBUMIN_G_DL = 12.0, 24.0, 4.0


def anion_gap_mmol_l(sodium_mmol_l: float, chloride_mmol_l: float, bicarbonate_mmol_l: float) -> float:
    """Return sodium less chloride and bicarbonate, potassium left out. Source: Kraut and Madias, CJASN 2007;2:162-174."""
    return sodium_mmol_l - chloride_mmol_l - bicarbonate_mmol_l


def albumin_corrected(gap_mmol_l: float, albumin_g_dl: float) -> float:
    """Return the gap with 2.5 mmol/L added for each g/dL of albumin below 4. Source: Figge, Crit Care Med 1998;26:1807."""
    return gap_mmol_l + 2.5 * (NORMAL_ALBUMIN_G_DL - albumin_g_dl)


def delta_ratio(gap_mmol_l: float, bicarbonate_mmol_l: float) -> float | None:
    """Return the rise of the gap over 12 divided by the fall of bicarbonate below 24; None when bicarbonate has not fallen.

    Source: Rastegar, J Am Soc Nephrol 2007;18:2429-2431.
    """
    fall = NORMAL_BICARBONATE - bicarbonate_mmol_l
    return (gap_mmol_l - NORMAL_GAP) / fall if fall > 0 else None


@tool()
def anion_gap(
    sodium_mmol_l: Annotated[float, Field(ge=90, le=190)],
    chloride_mmol_l: Annotated[float, Field(ge=50, le=150)],
    bicarbonate_mmol_l: Annotated[float, Field(ge=1, le=60)],
    albumin_g_dl: Annotated[float, Field(ge=0.5, le=7)] | None = None,
) -> str:
    """Compute the anion gap (without potassium; normal up to 12), albumin-corrected when albumin is given.

    Args:
        sodium_mmol_l: Sodium in mmol/L.
        chloride_mmol_l: Chloride in mmol/L.
        bicarbonate_mmol_l: Bicarbonate in mmol/L.
        albumin_g_dl: Albumin in g/dL.
    """
    gap = anion_gap_mmol_l(sodium_mmol_l, chloride_mmol_l, bicarbonate_mmol_l)
    text = f"anion gap {gap:g} mmol/L"
    if albumin_g_dl is not None:
        gap = albumin_corrected(gap, albumin_g_dl)
        text += f", albumin-corrected {gap:.1f} mmol/L"
    ratio = delta_ratio(gap, bicarbonate_mmol_l)
    return text + (f", delta ratio {ratio:.1f}" if ratio is not None else "")
