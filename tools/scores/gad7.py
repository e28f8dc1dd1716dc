"""GAD-7: severity of anxiety over the last two weeks."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool

Item = Annotated[int, Field(ge=0, le=3)]


def gad7_band(total: int) -> str:
    """Return minimal, mild, moderate or severe for a total of 0 to 21.

    Source: Spitzer et al., Arch Intern Med 2006;166:1092-1097: cut points 5, 10 and 15.
    """
    bands = ((4, "minimal"), (9, "mild"), (14, "moderate"), (21, "severe"))
    return next(name for limit, name in bands if total <= limit)


def gad7_total(items: Sequence[int]) -> int:
    """Return the sum of the seven items, each 0 (not at all) to 3 (nearly every day)."""
    return sum(items)


@tool()
def gad7(items: Annotated[list[Item], Field(min_length=7, max_length=7)]) -> str:
    """Score GAD-7, 0 to 21.

    Args:
        items: Seven scores of 0 to 3 in the order of instrument_guide.
    """
    total = gad7_total(items)
    return f"GAD-7 {total}, category {gad7_band(total)}"
