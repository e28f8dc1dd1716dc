"""Cincinnati Prehospital Stroke Scale: face, arm, speech."""

from healthgym.toolkit import tool


def cincinnati_count(facial_droop: bool, arm_drift: bool, abnormal_speech: bool) -> int:
    """Return how many of the three signs are abnormal. Source: Kothari et al., Ann Emerg Med 1999;33:373-378."""
    return facial_droop + arm_drift + abnormal_speech


@tool()
def cincinnati_stroke(facial_droop: bool, arm_drift: bool, abnormal_speech: bool) -> str:
    """Screen for stroke with face, arm and speech; one abnormal sign is positive.

    Args:
        facial_droop: One side of the face moves less.
        arm_drift: One arm drifts or does not move.
        abnormal_speech: Slurred, wrong or no words.
    """
    count = cincinnati_count(facial_droop, arm_drift, abnormal_speech)
    return f"Cincinnati {count}/3, {'positive' if count else 'negative'}"
