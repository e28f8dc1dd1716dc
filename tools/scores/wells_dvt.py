"""Wells score: clinical probability of deep vein thrombosis of the leg."""

from typing import Literal

from healthgym.toolkit import tool


def wells_dvt_points(
    cancer: bool,
    paralysis_or_plaster: bool,
    bedridden_or_surgery: bool,
    vein_tenderness: bool,
    whole_leg_swollen: bool,
    calf_over_3_cm: bool,
    pitting_oedema: bool,
    collateral_veins: bool,
    previous_dvt: bool,
    alternative_as_likely: bool,
) -> int:
    """Return the points, -2 to 9. Source: Wells et al., N Engl J Med 2003;349:1227-1235, table 1."""
    present = (
        cancer,
        paralysis_or_plaster,
        bedridden_or_surgery,
        vein_tenderness,
        whole_leg_swollen,
        calf_over_3_cm,
        pitting_oedema,
        collateral_veins,
        previous_dvt,
    )
    return sum(present) - 2 * alternative_as_likely


def wells_dvt_band(points: int) -> Literal["unlikely", "likely"]:
    """Return likely from 2 points on, unlikely otherwise. Source: Wells et al., 2003."""
    return "likely" if points >= 2 else "unlikely"


@tool()
def wells_dvt(
    cancer: bool,
    paralysis_or_plaster: bool,
    bedridden_or_surgery: bool,
    vein_tenderness: bool,
    whole_leg_swollen: bool,
    calf_over_3_cm: bool,
    pitting_oedema: bool,
    collateral_veins: bool,
    previous_dvt: bool,
    alternative_as_likely: bool,
) -> str:
    """Score suspected deep vein thrombosis of the leg (Wells, 2003): 2 or more likely, otherwise unlikely.

    Args:
        cancer: Active cancer, treated within 6 months, or palliative.
        paralysis_or_plaster: Paralysis, paresis or recent plaster of the leg.
        bedridden_or_surgery: In bed for 3 days or more, or major surgery within 12 weeks.
        vein_tenderness: Tenderness along the deep veins.
        whole_leg_swollen: The whole leg is swollen.
        calf_over_3_cm: Calf over 3 cm wider than the other.
        pitting_oedema: Pitting oedema of this leg only.
        collateral_veins: Collateral superficial veins, not varicose.
        previous_dvt: Deep vein thrombosis documented before.
        alternative_as_likely: Another diagnosis is at least as likely.
    """
    points = wells_dvt_points(
        cancer,
        paralysis_or_plaster,
        bedridden_or_surgery,
        vein_tenderness,
        whole_leg_swollen,
        calf_over_3_cm,
        pitting_oedema,
        collateral_veins,
        previous_dvt,
        alternative_as_likely,
    )
    return f"Wells DVT {points}, DVT {wells_dvt_band(points)}"
