"""PHQ-9: severity of depression over the last two weeks."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool

Item = Annotated[int, Field(ge=0, le=3)]


def phq9_band(total: int) -> str:
    """Return minimal, mild, moderate, moderately_severe or severe for a total of 0 to 27.

    Source: Kroenke et al., J Gen Intern Med 2001;16:606-613: cut points 5, 10, 15 and 20.
    """
    bands = ((4, "minimal"), (9, "mild"), (14, "moderate"), (19, "moderately_severe"), (27, "severe"))
    return next(name for limit, name in bands if total <= limit)


def phq9_total(items: Sequence[int]) -> int:
    """Return the sum of the nine items, each 0 (not at all) to 3 (nearly every day)."""
    return sum(items)


@tool()
def phq9(items: Annotated[list[Item], Field(min_length=9, max_length=9)]) -> str:
    """Score PHQ-9, 0 to 27. Item 9 above 0 needs a suicide screen whatever the total.

    Args:
        items: Nine scores of 0 to 3 in the order of instrument_guide.
    """
    total = phq9_total(items)
    warning = "; item 9 is positive: screen for suicide risk" if items[8] else ""
    return f"PHQ-9 {total}, category {phq9_band(total)}{warning}"
