"""Columbia suicide severity screener (C-SSRS, six questions): which level of response the answers call for."""

from typing import Literal

from healthgym.toolkit import tool

Level = Literal["none", "low", "moderate", "high"]


def columbia_level(
    wish_to_be_dead: bool,
    suicidal_thoughts: bool,
    thought_of_method: bool,
    some_intent: bool,
    plan_with_intent: bool,
    behaviour_ever: bool,
    behaviour_within_3_months: bool,
) -> Level:
    """Return none, low, moderate or high.

    Source: Columbia Lighthouse Project, C-SSRS screener with triage points, recent version (past month for questions 1 to
    5): question 1 or 2 low; question 3, or behaviour longer than 3 months ago, moderate; question 4 or 5, or behaviour
    within 3 months, high. Instrument: Posner et al., Am J Psychiatry 2011;168:1266-1277.
    """
    if some_intent or plan_with_intent or behaviour_within_3_months:
        return "high"
    if thought_of_method or behaviour_ever:
        return "moderate"
    return "low" if wish_to_be_dead or suicidal_thoughts else "none"


@tool()
def cssrs_screen(
    wish_to_be_dead: bool,
    suicidal_thoughts: bool,
    thought_of_method: bool,
    some_intent: bool,
    plan_with_intent: bool,
    behaviour_ever: bool,
    behaviour_within_3_months: bool,
) -> str:
    """Give the triage level of the C-SSRS screener: none, low, moderate or high.

    Args:
        wish_to_be_dead: Past month.
        suicidal_thoughts: Past month.
        thought_of_method: Has thought about how, past month.
        some_intent: Some intention of acting, past month.
        plan_with_intent: Details worked out and intention to carry them out, past month.
        behaviour_ever: Attempt or preparation, ever.
        behaviour_within_3_months: Attempt or preparation in the past 3 months.
    """
    level = columbia_level(
        wish_to_be_dead,
        suicidal_thoughts,
        thought_of_method,
        some_intent,
        plan_with_intent,
        behaviour_ever,
        behaviour_within_3_months,
    )
    return f"C-SSRS screener: {level}"
