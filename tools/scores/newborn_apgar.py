"""Apgar score of a newborn."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

Breathing = Literal["absent", "weak_or_irregular", "good_cry"]
Tone = Literal["limp", "some_flexion", "active_motion"]
Reflex = Literal["none", "grimace", "cry_or_withdrawal"]
Colour = Literal["blue_or_pale", "blue_hands_and_feet", "pink"]


def apgar_points(heart_rate_per_min: int, breathing: Breathing, tone: Tone, reflex: Reflex, colour: Colour) -> int:
    """Return the Apgar score, 0 to 10.

    Source: Apgar, Curr Res Anesth Analg 1953;32:260-267; wording as in ACOG and AAP committee opinion 644, 2015.
    """
    return (
        (0 if heart_rate_per_min == 0 else 1 if heart_rate_per_min < 100 else 2)
        + ("absent", "weak_or_irregular", "good_cry").index(breathing)
        + ("limp", "some_flexion", "active_motion").index(tone)
        + ("none", "grimace", "cry_or_withdrawal").index(reflex)
        + ("blue_or_pale", "blue_hands_and_feet", "pink").index(colour)
    )


def apgar_band(points: int) -> str:
    """Return the band of a score at 5 minutes: reassuring, moderately abnormal or low. Source: committee opinion 644."""
    return "reassuring" if points >= 7 else "moderately abnormal" if points >= 4 else "low"


@tool()
def apgar_score(
    heart_rate_per_min: Annotated[int, Field(ge=0, le=250)],
    breathing: Breathing,
    tone: Tone,
    reflex: Reflex,
    colour: Colour,
) -> str:
    """Score a newborn (Apgar, 0 to 10).

    Args:
        heart_rate_per_min: Heart rate.
        breathing: Breathing effort.
        tone: Muscle tone.
        reflex: Reaction to stimulation.
        colour: Skin colour.
    """
    points = apgar_points(heart_rate_per_min, breathing, tone, reflex, colour)
    return f"Apgar {points}, {apgar_band(points)}"
