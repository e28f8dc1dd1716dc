"""NIH Stroke Scale: severity of a stroke's deficit."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool

Two = Annotated[int, Field(ge=0, le=2)]
Three = Annotated[int, Field(ge=0, le=3)]
Four = Annotated[int, Field(ge=0, le=4)]


def nihss_band(total: int) -> str:
    """Return the usual wording for a total of 0 to 42. Source: Brott et al., Stroke 1989;20:864-870; NINDS bands."""
    bands = ((0, "no deficit"), (4, "minor"), (15, "moderate"), (20, "moderate to severe"))
    return next((name for limit, name in bands if total <= limit), "severe")


@tool()
def nihss(
    consciousness: Three = 0,
    questions: Two = 0,
    commands: Two = 0,
    gaze: Two = 0,
    visual_fields: Three = 0,
    facial_palsy: Three = 0,
    left_arm: Four = 0,
    right_arm: Four = 0,
    left_leg: Four = 0,
    right_leg: Four = 0,
    ataxia: Two = 0,
    sensory: Two = 0,
    language: Three = 0,
    dysarthria: Two = 0,
    neglect: Two = 0,
) -> str:
    """Add up the NIH Stroke Scale, 0 to 42; items left out count as normal.

    Args:
        consciousness: 0 alert to 3 unresponsive.
        questions: Month and age, wrong answers.
        commands: Two commands, failures.
        gaze: 0 normal to 2 forced deviation.
        visual_fields: 0 full to 3 blind.
        facial_palsy: 0 none to 3 complete.
        left_arm: Drift, 0 none to 4 no movement.
        right_arm: Drift, 0 none to 4 no movement.
        left_leg: Drift, 0 none to 4 no movement.
        right_leg: Drift, 0 none to 4 no movement.
        ataxia: Limbs with ataxia.
        sensory: 0 normal to 2 severe loss.
        language: 0 normal to 3 mute.
        dysarthria: 0 none to 2 unintelligible.
        neglect: 0 none to 2 profound.
    """
    total = sum(
        (consciousness, questions, commands, gaze, visual_fields, facial_palsy, left_arm, right_arm)
        + (left_leg, right_leg, ataxia, sensory, language, dysarthria, neglect)
    )
    return f"NIHSS {total}, {nihss_band(total)}"
