"""Bishop score: how ready the cervix is for induction."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

Consistency = Literal["firm", "medium", "soft"]
Position = Literal["posterior", "mid", "anterior"]


def bishop_points(
    dilation_cm: int, effacement_percent: int, station: int, consistency: Consistency, position: Position
) -> int:
    """Return the Bishop score, 0 to 13.

    Source: Bishop, Obstet Gynecol 1964;24:266-268; bands as in ACOG practice bulletin 107, 2009, table 1. Effacement
    between the printed bands goes to the lower one. Station in cm from the ischial spines, -3 to +3 as in that table.
    """
    return (
        (0 if dilation_cm < 1 else 1 if dilation_cm < 3 else 2 if dilation_cm < 5 else 3)
        + (0 if effacement_percent < 40 else 1 if effacement_percent < 60 else 2 if effacement_percent < 80 else 3)
        + (0 if station <= -3 else 1 if station == -2 else 2 if station <= 0 else 3)
        + ("firm", "medium", "soft").index(consistency)
        + ("posterior", "mid", "anterior").index(position)
    )


@tool()
def bishop_score(
    dilation_cm: Annotated[int, Field(ge=0, le=10)],
    effacement_percent: Annotated[int, Field(ge=0, le=100)],
    station: Annotated[int, Field(ge=-3, le=3)],
    consistency: Consistency,
    position: Position,
) -> str:
    """Score the cervix (Bishop, 0 to 13); 6 or less is unfavourable, above 8 as good as spontaneous labour.

    Args:
        dilation_cm: Dilation in whole cm.
        effacement_percent: Effacement in percent.
        station: Station of the head, -3 to +3.
        consistency: Consistency of the cervix.
        position: Position of the cervix.
    """
    points = bishop_points(dilation_cm, effacement_percent, station, consistency, position)
    band = "unfavourable" if points <= 6 else "favourable" if points > 8 else "in between"
    return f"Bishop score {points}, {band}"
