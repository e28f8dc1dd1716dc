"""Early pregnancy: rise of hCG, and when an ultrasound proves a pregnancy loss."""

from typing import Annotated, Literal

from pydantic import Field

from healthgym.toolkit import tool

Viability = Literal["living", "loss", "uncertain"]


def minimal_rise_percent(first_hcg_iu_l: float) -> int:
    """Return the least rise of hCG in 48 hours of a viable pregnancy, in percent, by the first value.

    Source: ACOG practice bulletin 193, 2018, after Barnhart et al., Obstet Gynecol 2016;128:504-511: 49 below 1,500, 40 to
    3,000, 33 above.
    """
    return 49 if first_hcg_iu_l < 1500 else 40 if first_hcg_iu_l <= 3000 else 33


def viability(embryo_length_mm: float | None, has_heartbeat: bool, sac_diameter_mm: float) -> Viability:
    """Return what one transvaginal scan of a pregnancy in the womb proves.

    Source: Doubilet et al., N Engl J Med 2013;369:1443-1451: loss at an embryo of 7 mm or more without heartbeat, or at a
    mean sac diameter of 25 mm or more without embryo.
    """
    if has_heartbeat:
        return "living"
    if embryo_length_mm is None:
        return "loss" if sac_diameter_mm >= 25 else "uncertain"
    return "loss" if embryo_length_mm >= 7 else "uncertain"


@tool()
def hcg_trend(
    first_hcg_iu_l: Annotated[float, Field(gt=0, le=500000)],
    second_hcg_iu_l: Annotated[float, Field(gt=0, le=500000)],
    hours_between: Annotated[float, Field(ge=24, le=168)] = 48,
) -> str:
    """Compare two hCG values with the least rise of a viable pregnancy.

    Args:
        first_hcg_iu_l: Earlier value.
        second_hcg_iu_l: Later value.
        hours_between: Hours between them.
    """
    change = ((second_hcg_iu_l / first_hcg_iu_l) ** (48 / hours_between) - 1) * 100
    least = minimal_rise_percent(first_hcg_iu_l)
    verdict = (
        "falls" if change < 0 else "too slow for a viable pregnancy" if change < least else "as in a viable pregnancy"
    )
    return f"hCG {change:+.0f} % in 48 h (least rise {least} %): {verdict}"


@tool()
def miscarriage_criteria(
    has_heartbeat: bool,
    sac_diameter_mm: Annotated[float, Field(ge=0, le=120)],
    embryo_length_mm: Annotated[float, Field(ge=0, le=90)] | None = None,
) -> str:
    """Say what one transvaginal scan proves: living, loss, or uncertain.

    Args:
        has_heartbeat: Whether a heartbeat is seen.
        sac_diameter_mm: Mean sac diameter.
        embryo_length_mm: Crown-rump length; leave out when no embryo is seen.
    """
    return viability(embryo_length_mm, has_heartbeat, sac_diameter_mm)
