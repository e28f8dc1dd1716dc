"""Confusion Assessment Method (CAM): does the picture fit delirium."""

from healthgym.toolkit import tool


def cam_is_positive(
    acute_or_fluctuating: bool, inattention: bool, disorganised_thinking: bool, altered_consciousness: bool
) -> bool:
    """Say whether features 1 and 2, and 3 or 4, are there. Source: Inouye et al., Ann Intern Med 1990;113:941-948."""
    return acute_or_fluctuating and inattention and (disorganised_thinking or altered_consciousness)


@tool()
def cam(acute_or_fluctuating: bool, inattention: bool, disorganised_thinking: bool, altered_consciousness: bool) -> str:
    """Apply the CAM algorithm for delirium.

    Args:
        acute_or_fluctuating: Sudden change from usual, or coming and going through the day.
        inattention: Cannot keep track.
        disorganised_thinking: Rambling or illogical.
        altered_consciousness: Anything but alert.
    """
    positive = cam_is_positive(acute_or_fluctuating, inattention, disorganised_thinking, altered_consciousness)
    return f"CAM {'positive: fits delirium' if positive else 'negative'}"
