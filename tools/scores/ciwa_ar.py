"""CIWA-Ar: severity of alcohol withdrawal."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool

MAXIMA = {
    "nausea": 7, "tremor": 7, "sweating": 7, "anxiety": 7, "agitation": 7, "tactile": 7, "auditory": 7, "visual": 7,
    "headache": 7, "orientation": 4,
}  # fmt: skip
"""Items and their highest scores; 67 in all. Source: Sullivan et al., Br J Addict 1989;84:1353-1357."""
Seven = Annotated[int, Field(ge=0, le=7)]


def ciwa_total(items: Mapping[str, int]) -> int:
    """Return the sum of the ten items by name, 0 to 67."""
    return sum(items[name] for name in MAXIMA)


def ciwa_band(total: int) -> str:
    """Return mild (under 10), moderate (10-18) or severe (19 and over) withdrawal.

    Source: ASAM clinical practice guideline on alcohol withdrawal management, 2020.
    """
    return "mild" if total < 10 else "moderate" if total < 19 else "severe"


@tool()
def ciwa_ar(
    nausea: Seven,
    tremor: Seven,
    sweating: Seven,
    anxiety: Seven,
    agitation: Seven,
    tactile: Seven,
    auditory: Seven,
    visual: Seven,
    headache: Seven,
    orientation: Annotated[int, Field(ge=0, le=4)],
) -> str:
    """Score alcohol withdrawal with CIWA-Ar, 0 to 67.

    Args:
        nausea: 0 none, 4 intermittent with dry heaves, 7 constant with vomiting.
        tremor: 0 none, 1 felt not seen, 4 moderate with arms out, 7 severe with arms down.
        sweating: 0 none, 1 moist palms, 4 beads on forehead, 7 drenching.
        anxiety: 0 none, 1 mild, 4 moderate or guarded, 7 panic.
        agitation: 0 normal, 1 somewhat more active, 4 fidgety, 7 pacing or thrashing.
        tactile: 0 none, 1 very mild, 2 mild, 3 moderate itch or numbness, 4-6 hallucinations, 7 continuous ones.
        auditory: 0 none, 1 very mild, 2 mild, 3 moderate harshness, 4-6 hallucinations, 7 continuous ones.
        visual: 0 none, 1 very mild, 2 mild, 3 moderate sensitivity, 4-6 hallucinations, 7 continuous ones.
        headache: 0 none, 1 very mild, 2 mild, 3 moderate, 4 moderately severe, 5 severe, 6 very severe, 7 extreme.
        orientation: 0 oriented and adds, 1 unsure of date, 2 date off by up to 2 days, 3 by more, 4 place or person.
    """
    parts = (nausea, tremor, sweating, anxiety, agitation, tactile, auditory, visual, headache, orientation)
    total = sum(parts)
    return f"CIWA-Ar {total}, {ciwa_band(total)} withdrawal"
