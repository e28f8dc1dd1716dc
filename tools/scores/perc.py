"""PERC: who with a low suspicion of pulmonary embolism needs no test."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool


def perc_criteria_met(
    age_years: float,
    heart_rate_per_min: float,
    spo2_percent: float,
    leg_swelling: bool,
    haemoptysis: bool,
    surgery_or_trauma: bool,
    previous_dvt_or_pe: bool,
    oestrogen: bool,
) -> int:
    """Return how many of the eight criteria are positive; 0 rules out.

    Source: Kline et al., J Thromb Haemost 2004;2:1247-1255: age of 50 years or more, pulse of 100 or more, SpO2 below 95 % on
    room air, swelling of one leg, haemoptysis, surgery or trauma within 4 weeks, earlier thrombosis, oestrogen.
    """
    return (
        (age_years >= 50)
        + (heart_rate_per_min >= 100)
        + (spo2_percent < 95)
        + leg_swelling
        + haemoptysis
        + surgery_or_trauma
        + previous_dvt_or_pe
        + oestrogen
    )


@tool()
def perc(
    age_years: Annotated[float, Field(ge=18, le=110)],
    heart_rate_per_min: Annotated[int, Field(ge=20, le=300)],
    spo2_percent: Annotated[int, Field(ge=40, le=100)],
    leg_swelling: bool,
    haemoptysis: bool,
    surgery_or_trauma: bool,
    previous_dvt_or_pe: bool,
    oestrogen: bool,
) -> str:
    """Apply PERC when suspicion of pulmonary embolism is low: 0 criteria rule it out without a test.

    Args:
        age_years: Age in years.
        heart_rate_per_min: Beats per minute.
        spo2_percent: Oxygen saturation on room air in %.
        leg_swelling: One leg swollen.
        haemoptysis: Coughs blood.
        surgery_or_trauma: Surgery or trauma within 4 weeks.
        previous_dvt_or_pe: Earlier deep vein thrombosis or pulmonary embolism.
        oestrogen: Takes oestrogen.
    """
    met = perc_criteria_met(
        age_years,
        heart_rate_per_min,
        spo2_percent,
        leg_swelling,
        haemoptysis,
        surgery_or_trauma,
        previous_dvt_or_pe,
        oestrogen,
    )
    return f"PERC {met} of 8 positive, {'ruled out' if met == 0 else 'not ruled out'}"
