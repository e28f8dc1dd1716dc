"""Vaginal birth after caesarean: who should not try, and Flamm's admission score for success."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

PriorVaginalBirth = Literal["before_and_after_caesarean", "after_caesarean", "before_caesarean", "none"]
UterineHistory = Literal[
    "low_transverse", "classical_or_t_incision", "uterine_rupture", "transfundal_surgery", "unknown_incision"
]
FORBIDDING = ("classical_or_t_incision", "uterine_rupture", "transfundal_surgery")
"""Histories in which labour is not offered. Source: ACOG practice bulletin 205, 2019."""
_BIRTH_POINTS = {"before_and_after_caesarean": 4, "after_caesarean": 2, "before_caesarean": 1, "none": 0}
_SUCCESS_PERCENT = (49, 49, 49, 60, 67, 77, 89, 93, 95, 95, 95)


def flamm_points(
    age_years: int,
    prior_vaginal_birth: PriorVaginalBirth,
    caesarean_for_failure_to_progress: bool,
    effacement_percent: int,
    dilation_cm: int,
) -> int:
    """Return the admission score, 0 to 10.

    Source: Flamm and Geiger, Obstet Gynecol 1997;90:907-910.
    """
    return (
        2 * (age_years < 40)
        + _BIRTH_POINTS[prior_vaginal_birth]
        + (not caesarean_for_failure_to_progress)
        + (2 if effacement_percent > 75 else 1 if effacement_percent >= 25 else 0)
        + (dilation_cm >= 4)
    )


def success_percent(points: int) -> int:
    """Return the observed share of vaginal births at a score, in percent. Source: as above."""
    return _SUCCESS_PERCENT[points]


@tool()
def vbac_score(
    age_years: Annotated[int, Field(ge=12, le=60)],
    prior_vaginal_birth: PriorVaginalBirth,
    caesarean_for_failure_to_progress: bool,
    effacement_percent: Annotated[int, Field(ge=0, le=100)],
    dilation_cm: Annotated[int, Field(ge=0, le=10)],
    uterine_history: UterineHistory = "low_transverse",
) -> str:
    """Score the chance of vaginal birth after caesarean at admission (Flamm, 0 to 10).

    Args:
        age_years: Mother's age.
        prior_vaginal_birth: Vaginal births around the first caesarean.
        caesarean_for_failure_to_progress: Reason of the first caesarean.
        effacement_percent: Effacement at admission.
        dilation_cm: Dilation at admission.
        uterine_history: Scar, or other surgery of the womb.
    """
    if uterine_history in FORBIDDING:
        return f"labour not to be offered: {uterine_history.replace('_', ' ')}"
    points = flamm_points(
        age_years, prior_vaginal_birth, caesarean_for_failure_to_progress, effacement_percent, dilation_cm
    )
    return f"Flamm score {points}, vaginal birth in about {success_percent(points)} %"
