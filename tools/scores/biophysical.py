"""Biophysical profile of the fetus."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool

ENOUGH_FLUID_CM = 2
"""A deepest pocket must be above it; 2 cm or less is oligohydramnios. Source: ACOG practice bulletin 229, 2021."""


def biophysical_points(
    breathing_longest_s: float, movements: int, tone_episodes: int, deepest_pocket_cm: float, nst_reactive: bool
) -> int:
    """Return the biophysical profile, 0 to 10 in steps of 2.

    Source: Manning et al., Am J Obstet Gynecol 1980;136:787-795; limits as in ACOG practice bulletin 229, 2021: in 30
    minutes breathing for 30 s or more, 3 movements, 1 extension with return to flexion, deepest pocket above 2 cm;
    reactive non-stress test.
    """
    met = (
        breathing_longest_s >= 30,
        movements >= 3,
        tone_episodes >= 1,
        deepest_pocket_cm > ENOUGH_FLUID_CM,
        nst_reactive,
    )
    return 2 * sum(met)


def biophysical_band(points: int) -> str:
    """Return normal (8 or 10), equivocal (6) or abnormal (4 or less). Source: as above."""
    return "normal" if points >= 8 else "equivocal" if points == 6 else "abnormal"


@tool()
def biophysical_profile(
    breathing_longest_s: Annotated[int, Field(ge=0, le=1800)],
    movements: Annotated[int, Field(ge=0, le=100)],
    tone_episodes: Annotated[int, Field(ge=0, le=100)],
    deepest_pocket_cm: Annotated[float, Field(ge=0, le=20)],
    nst_reactive: bool,
) -> str:
    """Score the biophysical profile, 0 to 10.

    Args:
        breathing_longest_s: Longest breathing episode in 30 minutes, in seconds.
        movements: Separate body or limb movements in 30 minutes.
        tone_episodes: Extensions with return to flexion.
        deepest_pocket_cm: Deepest vertical pocket of fluid in cm.
        nst_reactive: Whether the non-stress test is reactive.
    """
    points = biophysical_points(breathing_longest_s, movements, tone_episodes, deepest_pocket_cm, nst_reactive)
    low = "" if deepest_pocket_cm > ENOUGH_FLUID_CM else "; oligohydramnios"
    return f"BPP {points}/10, {biophysical_band(points)}{low}"
