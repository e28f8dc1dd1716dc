"""HEART score: risk of a major cardiac event in chest pain."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool


def heart_points(
    history: int, ecg: int, age_years: float, risk_factors: int, known_atherosclerosis: bool, troponin_ratio: float
) -> int:
    """Return the score, 0 to 10.

    `troponin_ratio` is the troponin over its upper reference limit: 1 point above one, 2 above three times the limit.
    Source: Six et al., Neth Heart J 2008;16:191-196; troponin bands of Backus et al., Int J Cardiol 2013;168:2153-2158.
    """
    age = 2 if age_years >= 65 else 1 if age_years >= 45 else 0
    risk = 2 if risk_factors >= 3 or known_atherosclerosis else 1 if risk_factors >= 1 else 0
    troponin = 2 if troponin_ratio > 3 else 1 if troponin_ratio > 1 else 0
    return history + ecg + age + risk + troponin


def heart_band(points: int) -> Literal["low", "moderate", "high"]:
    """Return low (0 to 3), moderate (4 to 6) or high (7 to 10). Source: Backus et al., 2013."""
    return "low" if points <= 3 else "moderate" if points <= 6 else "high"


@tool()
def heart_score(
    history: Annotated[int, Field(ge=0, le=2)],
    ecg: Annotated[int, Field(ge=0, le=2)],
    age_years: Annotated[float, Field(ge=0, le=110)],
    risk_factors: Annotated[int, Field(ge=0, le=6)],
    troponin_ratio: Annotated[float, Field(ge=0, le=10_000)],
    known_atherosclerosis: bool = False,
) -> str:
    """Score chest pain with HEART, 0 to 10: 0-3 low, 4-6 moderate, 7-10 high risk.

    Args:
        history: 0 slightly, 1 moderately, 2 highly suspicious.
        ecg: 0 normal, 1 unspecific repolarisation change, 2 significant ST deviation.
        age_years: Age in years.
        risk_factors: How many of hypertension, high cholesterol, diabetes, smoking, family history, obesity.
        troponin_ratio: Troponin divided by its upper limit.
        known_atherosclerosis: Previous infarction, stent, stroke or arterial disease.
    """
    points = heart_points(history, ecg, age_years, risk_factors, known_atherosclerosis, troponin_ratio)
    return f"HEART {points}, {heart_band(points)} risk"
