"""Wells score: clinical probability of pulmonary embolism."""

from typing import Literal

from healthgym.toolkit import tool


def wells_pe_points(
    leg_signs_of_dvt: bool,
    pe_most_likely: bool,
    heart_rate_over_100: bool,
    immobile_or_surgery: bool,
    previous_dvt_or_pe: bool,
    haemoptysis: bool,
    cancer: bool,
) -> float:
    """Return the points, 0 to 12.5. Source: Wells et al., Thromb Haemost 2000;83:416-420."""
    return (
        3.0 * leg_signs_of_dvt
        + 3.0 * pe_most_likely
        + 1.5 * heart_rate_over_100
        + 1.5 * immobile_or_surgery
        + 1.5 * previous_dvt_or_pe
        + 1.0 * haemoptysis
        + 1.0 * cancer
    )


def wells_pe_band(points: float) -> Literal["unlikely", "likely"]:
    """Return likely above 4 points, unlikely otherwise. Source: Wells et al., 2000."""
    return "likely" if points > 4 else "unlikely"


@tool()
def wells_pe(
    leg_signs_of_dvt: bool,
    pe_most_likely: bool,
    heart_rate_over_100: bool,
    immobile_or_surgery: bool,
    previous_dvt_or_pe: bool,
    haemoptysis: bool,
    cancer: bool,
) -> str:
    """Score suspected pulmonary embolism (Wells, 2000): above 4 likely, otherwise unlikely.

    Args:
        leg_signs_of_dvt: Leg swelling and pain on pressing the deep veins.
        pe_most_likely: No other diagnosis is more likely.
        heart_rate_over_100: Heart rate above 100 a minute.
        immobile_or_surgery: In bed for 3 days or more, or surgery, within 4 weeks.
        previous_dvt_or_pe: Earlier deep vein thrombosis or pulmonary embolism.
        haemoptysis: Coughs blood.
        cancer: Cancer treated within 6 months, or palliative.
    """
    points = wells_pe_points(
        leg_signs_of_dvt,
        pe_most_likely,
        heart_rate_over_100,
        immobile_or_surgery,
        previous_dvt_or_pe,
        haemoptysis,
        cancer,
    )
    return f"Wells PE {points:g}, PE {wells_pe_band(points)}"
