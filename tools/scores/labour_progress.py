"""Labour progress: arrest by ACOG's limits, slow hours by the WHO Labour Care Guide."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

ACTIVE_FROM_CM = 6
_ALERT_HOURS = {5: 6.0, 6: 5.0, 7: 3.0, 8: 2.5, 9: 2.0}
Progress = Literal["latent", "progressing", "slow", "arrest_of_dilation", "prolonged_second_stage"]


def alert_hours(dilation_cm: int) -> float | None:
    """Return the hours at one dilation from which the Labour Care Guide alerts; None where it sets no limit.

    Source: WHO Labour Care Guide, user's manual, 2020: 6 h at 5 cm, 5 h at 6, 3 h at 7, 2.5 h at 8, 2 h at 9.
    """
    return _ALERT_HOURS.get(dilation_cm)


def progress_of(
    dilation_cm: int,
    hours_unchanged: float,
    membranes_ruptured: bool,
    adequate_contractions: bool,
    hours_of_oxytocin: float = 0.0,
    pushing_hours: float = 0.0,
    is_nulliparous: bool = True,
) -> Progress:
    """Return how labour stands.

    Arrest: 6 cm or more, membranes ruptured, no change for 4 h with adequate contractions or for 6 h of oxytocin without.
    Prolonged second stage: pushing above 3 h (first birth) or 2 h (later births). Slow: at or past the WHO alert.

    Source: ACOG clinical practice guideline 8, 2024, with ACOG/SMFM obstetric care consensus 1, 2014; WHO 2020.
    """
    if dilation_cm >= 10:
        return "prolonged_second_stage" if pushing_hours > (3 if is_nulliparous else 2) else "progressing"
    stalled = hours_unchanged >= 4 if adequate_contractions else min(hours_unchanged, hours_of_oxytocin) >= 6
    if dilation_cm >= ACTIVE_FROM_CM and membranes_ruptured and stalled:
        return "arrest_of_dilation"
    limit = alert_hours(dilation_cm)
    if limit is not None and hours_unchanged >= limit:
        return "slow"
    return "latent" if dilation_cm < ACTIVE_FROM_CM else "progressing"


@tool()
def labour_progress(
    dilation_cm: Annotated[int, Field(ge=0, le=10)],
    hours_unchanged: Annotated[float, Field(ge=0, le=48)],
    membranes_ruptured: bool,
    adequate_contractions: bool,
    hours_of_oxytocin: Annotated[float, Field(ge=0, le=48)] = 0.0,
    pushing_hours: Annotated[float, Field(ge=0, le=12)] = 0.0,
    is_nulliparous: bool = True,
) -> str:
    """Judge labour from the partogram: latent, progressing, slow, arrest of dilation, prolonged second stage.

    Args:
        dilation_cm: Dilation now.
        hours_unchanged: Hours at this dilation.
        membranes_ruptured: Whether the membranes are ruptured.
        adequate_contractions: 200 Montevideo units or more.
        hours_of_oxytocin: Hours oxytocin has run.
        pushing_hours: Hours of pushing at 10 cm.
        is_nulliparous: Whether this is a first birth.
    """
    found = progress_of(
        dilation_cm, hours_unchanged, membranes_ruptured, adequate_contractions, hours_of_oxytocin, pushing_hours,
        is_nulliparous,
    )  # fmt: skip
    limit = alert_hours(dilation_cm)
    return found.replace("_", " ") + (f"; WHO alert at {dilation_cm} cm from {limit:g} h" if limit else "")
