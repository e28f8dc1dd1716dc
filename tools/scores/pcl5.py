"""PCL-5: symptoms of post-traumatic stress in the last month."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from healthgym.toolkit import tool

Item = Annotated[int, Field(ge=0, le=4)]
CUT_OFF = 33
CLUSTERS = {"B": (0, 5, 1), "C": (5, 7, 1), "D": (7, 14, 2), "E": (14, 20, 2)}
"""DSM-5 cluster to first item, end, and how many items of 2 or more it needs."""


def pcl5_category(total: int) -> str:
    """Return positive from 33 of 80 on.

    Source: Bovin et al., Psychol Assess 2016;28:1379-1391 (31 to 33 best); US National Center for PTSD, PCL-5, 2013.
    """
    return "positive" if total >= CUT_OFF else "negative"


def pcl5_meets_clusters(items: Sequence[int]) -> bool:
    """Say whether items of 2 or more make up clusters B (one), C (one), D (two) and E (two). Source: as above, 2013."""
    return all(sum(score >= 2 for score in items[a:b]) >= needed for a, b, needed in CLUSTERS.values())


@tool()
def pcl5(items: Annotated[list[Item], Field(min_length=20, max_length=20)]) -> str:
    """Score PCL-5, 0 to 80; 33 or more is positive.

    Args:
        items: Twenty scores of 0 to 4 in the order of instrument_guide.
    """
    total = sum(items)
    clusters = "met" if pcl5_meets_clusters(items) else "not met"
    return f"PCL-5 {total}, category {pcl5_category(total)}, DSM-5 clusters {clusters}"
