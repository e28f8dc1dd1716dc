"""AUDIT: hazardous and harmful drinking in the last year."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from healthgym.errors import ToolError
from healthgym.toolkit import tool

Item = Annotated[int, Field(ge=0, le=4)]


def audit_band(total: int) -> str:
    """Return low_risk, hazardous, harmful or possible_dependence for a total of 0 to 40.

    Source: Babor et al., AUDIT guidelines for use in primary care, 2nd edition, WHO 2001: zones I (0-7), II (8-15),
    III (16-19) and IV (20-40).
    """
    bands = ((7, "low_risk"), (15, "hazardous"), (19, "harmful"), (40, "possible_dependence"))
    return next(name for limit, name in bands if total <= limit)


def audit_total(items: Sequence[int]) -> int:
    """Return the sum of the ten items. Raises ToolError when items 9 and 10 are not 0, 2 or 4."""
    for number in (9, 10):
        if items[number - 1] not in (0, 2, 4):
            raise ToolError(f"AUDIT item {number} is 0 (no), 2 (not in the last year) or 4, got {items[number - 1]}.")
    return sum(items)


@tool()
def audit(items: Annotated[list[Item], Field(min_length=10, max_length=10)]) -> str:
    """Score AUDIT, 0 to 40.

    Args:
        items: Ten scores of 0 to 4 in the order of instrument_guide; items 9 and 10 are 0, 2 or 4.
    """
    total = audit_total(items)
    return f"AUDIT {total}, category {audit_band(total)}"
