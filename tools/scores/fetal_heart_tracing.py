"""Intrapartum fetal heart rate tracings by the three NICHD categories."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

Variability = Literal["absent", "minimal", "moderate", "marked"]
Decelerations = Literal["none", "early", "late", "variable", "prolonged"]
Category = Literal["I", "II", "III"]


def variability_of(amplitude_bpm: float) -> Variability:
    """Return the class of baseline variability by its amplitude in beats/min.

    Source: Macones et al., Obstet Gynecol 2008;112:661-666 (NICHD workshop): undetectable, up to 5, 6 to 25, above 25.
    """
    if amplitude_bpm <= 0:
        return "absent"
    return "minimal" if amplitude_bpm <= 5 else "moderate" if amplitude_bpm <= 25 else "marked"


def deceleration_kind(onset_to_nadir_s: float, nadir_after_peak_s: float, duration_s: float) -> Decelerations:
    """Return the kind of a deceleration from its shape.

    Source: as above. 2 to under 10 minutes is prolonged; onset to nadir under 30 s is variable; otherwise early when
    the nadir falls on the peak of the contraction, late when it follows.
    """
    if duration_s >= 120:
        return "prolonged"
    if onset_to_nadir_s < 30:
        return "variable"
    return "late" if nadir_after_peak_s > 0 else "early"


def tracing_category(
    baseline_bpm: int,
    variability: Variability,
    decelerations: Decelerations = "none",
    is_recurrent: bool = False,
    is_sinusoidal: bool = False,
) -> Category:
    """Return the category of a tracing.

    Source: as above. III: sinusoidal, or absent variability with recurrent late or variable decelerations or bradycardia.
    I: baseline 110 to 160, moderate variability, no late, variable or prolonged decelerations. II: everything else.
    """
    ominous = baseline_bpm < 110 or (is_recurrent and decelerations in ("late", "variable"))
    if is_sinusoidal or (variability == "absent" and ominous):
        return "III"
    is_normal = 110 <= baseline_bpm <= 160 and variability == "moderate" and decelerations in ("none", "early")
    return "I" if is_normal else "II"


@tool()
def ctg_category(
    baseline_bpm: Annotated[int, Field(ge=40, le=240)],
    variability: Variability,
    decelerations: Decelerations = "none",
    is_recurrent: bool = False,
    is_sinusoidal: bool = False,
) -> str:
    """Classify a tracing by NICHD category I, II or III.

    Args:
        baseline_bpm: Baseline in beats/min.
        variability: absent 0, minimal up to 5, moderate 6 to 25, marked above 25 beats/min.
        decelerations: Worst kind seen.
        is_recurrent: Whether they come with half of the contractions or more in 20 minutes.
        is_sinusoidal: Whether the pattern is a smooth sine wave for 20 minutes.
    """
    return f"category {tracing_category(baseline_bpm, variability, decelerations, is_recurrent, is_sinusoidal)}"
