"""Absolute neutrophil count on clozapine: what the count asks for."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

Band = Literal["normal", "mild", "moderate", "severe"]
ACTIONS = {
    "normal": "continue",
    "mild": "monitor_three_times_weekly",
    "moderate": "interrupt",
    "severe": "stop_no_rechallenge",
}


def anc_band(anc_per_ul: float, benign_ethnic_neutropenia: bool = False) -> Band:
    """Return the band of an absolute neutrophil count in cells per microlitre.

    Source: FDA label clozapine, 2023, table 1. General population: 1,500 or more normal, 1,000-1,499 mild, 500-999
    moderate, under 500 severe. With benign ethnic neutropenia: 1,000 or more normal, 500-999 as mild, under 500 severe.
    """
    if anc_per_ul < 500:
        return "severe"
    if benign_ethnic_neutropenia:
        return "mild" if anc_per_ul < 1000 else "normal"
    return "moderate" if anc_per_ul < 1000 else "mild" if anc_per_ul < 1500 else "normal"


def anc_action(anc_per_ul: float, benign_ethnic_neutropenia: bool = False) -> str:
    """Return continue, monitor_three_times_weekly, interrupt or stop_no_rechallenge. Source: as anc_band."""
    return ACTIONS[anc_band(anc_per_ul, benign_ethnic_neutropenia)]


def routine_interval_days(months_on_clozapine: float) -> int:
    """Return days between counts while they are normal: 7 for 6 months, 14 to 12 months, then 28 (monthly).

    Source: FDA label clozapine, 2023, section 2.4.
    """
    return 7 if months_on_clozapine < 6 else 14 if months_on_clozapine < 12 else 28


@tool()
def clozapine_anc(
    anc_per_ul: Annotated[float, Field(ge=0, le=60_000)],
    months_on_clozapine: Annotated[float, Field(ge=0, le=720)],
    benign_ethnic_neutropenia: bool = False,
) -> str:
    """Say what a neutrophil count on clozapine asks for, and the interval to the next one.

    Args:
        anc_per_ul: Cells per microlitre (1.2 x10^9/L is 1200).
        months_on_clozapine: Months without interruption.
        benign_ethnic_neutropenia: Documented benign ethnic neutropenia.
    """
    band = anc_band(anc_per_ul, benign_ethnic_neutropenia)
    days = routine_interval_days(months_on_clozapine)
    after = f"; next count in {days} days" if band == "normal" else ""
    return f"{band}: {ACTIONS[band]}{after}"
