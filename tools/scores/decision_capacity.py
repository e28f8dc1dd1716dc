"""Capacity for one decision: the four abilities."""

from healthgym.toolkit import tool

ABILITIES = ("understand", "appreciate", "reason", "choose")


def has_capacity(understand: bool, appreciate: bool, reason: bool, choose: bool) -> bool:
    """Say whether all four abilities hold for the decision at hand. Source: Appelbaum, N Engl J Med 2007;357:1834-1840."""
    return understand and appreciate and reason and choose


@tool()
def decision_capacity(understand: bool, appreciate: bool, reason: bool, choose: bool) -> str:
    """Conclude on capacity for one decision; an unwise choice or a diagnosis alone does not take it away.

    Args:
        understand: Can say back what is wrong, what is offered and its risks.
        appreciate: Applies it to himself or herself.
        reason: Compares options with reasons that follow.
        choose: States a choice that stays the same.
    """
    names = dict(zip(ABILITIES, (understand, appreciate, reason, choose), strict=True))
    missing = [name for name, present in names.items() if not present]
    return "has capacity" if not missing else f"lacks capacity: cannot {', '.join(missing)}"
