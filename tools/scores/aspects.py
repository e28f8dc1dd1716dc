"""ASPECTS: early ischaemic change in the territory of the middle cerebral artery on CT."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

Region = Literal["C", "L", "IC", "I", "M1", "M2", "M3", "M4", "M5", "M6"]
GANGLIONIC: tuple[Region, ...] = ("C", "L", "IC", "I", "M1", "M2", "M3")
SUPRAGANGLIONIC: tuple[Region, ...] = ("M4", "M5", "M6")
REGIONS = GANGLIONIC + SUPRAGANGLIONIC


def aspects_score(affected: tuple[Region, ...] | list[Region]) -> int:
    """Return 10 less one for each of the ten regions with early ischaemic change.

    Source: Barber et al., Lancet 2000;355:1670-1674.
    """
    return 10 - len(set(affected))


@tool()
def aspects(affected_regions: Annotated[list[Region], Field(max_length=10)]) -> str:
    """Score ASPECTS, 10 (nothing affected) to 0 (whole territory), from the regions with early ischaemic change.

    Args:
        affected_regions: Of one side: C caudate, L lentiform, IC internal capsule, I insula, M1 to M6 cortex. Old defects do not count.
    """
    return f"ASPECTS {aspects_score(affected_regions)}"
