"""International clinical diabetic retinopathy severity scale (ICDR)."""

from collections.abc import Sequence

from healthgym.errors import ToolError

SEVERE_OVER = 20
"""Haemorrhages in each of four quadrants above which retinopathy is severe."""


def retinopathy_grade(
    microaneurysms: int, haemorrhages_by_quadrant: Sequence[int], *, has_preretinal_bleeding: bool, exudates: int = 0
) -> str:
    """Return no_retinopathy, mild_npdr, moderate_npdr, severe_npdr or proliferative_retinopathy.

    Beading of veins and intraretinal microvascular anomalies, the other signs of the severe stage, are taken as absent.

    Raises:
        ToolError: There are not four quadrants, or a number is negative.
    """
    # Source: Wilkinson et al., Ophthalmology 2003;110:1677-1682, table 1.
    if len(haemorrhages_by_quadrant) != 4 or min(*haemorrhages_by_quadrant, microaneurysms, exudates) < 0:
        raise ToolError(f"give four numbers of 0 or more, one a quadrant, got {list(haemorrhages_by_quadrant)}")
    if has_preretinal_bleeding:
        return "proliferative_retinopathy"
    if min(haemorrhages_by_quadrant) > SEVERE_OVER:
        return "severe_npdr"
    if sum(haemorrhages_by_quadrant) or exudates:
        return "moderate_npdr"
    return "mild_npdr" if microaneurysms else "no_retinopathy"
