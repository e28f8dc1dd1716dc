"""DAST-10: problems from drugs other than alcohol and tobacco in the last year."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool


def dast10_points(answers: Sequence[bool]) -> list[int]:
    """Return a point for every yes, but for item 3 (able to stop when wanted) a point for no.

    Source: Skinner, Addict Behav 1982;7:363-371; ten-item version, Centre for Addiction and Mental Health.
    """
    return [int(answer) if place != 2 else int(not answer) for place, answer in enumerate(answers)]


def dast10_band(total: int) -> str:
    """Return none (0), low (1-2), moderate (3-5), substantial (6-8) or severe (9-10). Source: as dast10_points."""
    bands = ((0, "none"), (2, "low"), (5, "moderate"), (8, "substantial"), (10, "severe"))
    return next(name for limit, name in bands if total <= limit)


@tool()
def dast10(answers: Annotated[list[bool], Field(min_length=10, max_length=10)]) -> str:
    """Score DAST-10, 0 to 10; item 3 (can stop when wanted) counts when the answer is no.

    Args:
        answers: Ten yes (true) or no answers in the order of instrument_guide.
    """
    total = sum(dast10_points(answers))
    return f"DAST-10 {total}, category {dast10_band(total)}"
