"""EPDS: depression in pregnancy and after birth, over the last seven days."""

from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool

Item = Annotated[int, Field(ge=0, le=3)]


def epds_category(total: int) -> str:
    """Return unlikely (0-9), possible (10-12) or probable (13-30) depression.

    Source: Cox et al., Br J Psychiatry 1987;150:782-786: 12/13 for probable, 9/10 for possible depression.
    """
    return "probable" if total >= 13 else "possible" if total >= 10 else "unlikely"


@tool()
def epds(items: Annotated[list[Item], Field(min_length=10, max_length=10)]) -> str:
    """Score the Edinburgh scale, 0 to 30. Item 10 above 0 needs a suicide screen whatever the total.

    Args:
        items: Ten scores of 0 (best) to 3 (worst) in the order of instrument_guide.
    """
    total = sum(items)
    warning = "; item 10 is positive: screen for suicide risk" if items[9] else ""
    return f"EPDS {total}, category {epds_category(total)}{warning}"
