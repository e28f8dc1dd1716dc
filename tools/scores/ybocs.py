"""Y-BOCS: severity of obsessions and compulsions in the last week."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool

Item = Annotated[int, Field(ge=0, le=4)]


def ybocs_band(total: int) -> str:
    """Return subclinical, mild, moderate, severe or extreme for a total of 0 to 40.

    Source: Goodman et al., Arch Gen Psychiatry 1989;46:1006-1011; bands 0-7, 8-15, 16-23, 24-31, 32-40.
    """
    bands = ((7, "subclinical"), (15, "mild"), (23, "moderate"), (31, "severe"), (40, "extreme"))
    return next(name for limit, name in bands if total <= limit)


@tool()
def ybocs(items: Annotated[list[Item], Field(min_length=10, max_length=10)]) -> str:
    """Score Y-BOCS, 0 to 40.

    Args:
        items: Ten scores of 0 to 4: five on obsessions, then five on compulsions.
    """
    total = sum(items)
    return f"Y-BOCS {total} (obsessions {sum(items[:5])}, compulsions {sum(items[5:])}), category {ybocs_band(total)}"
