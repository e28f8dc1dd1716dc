"""CAGE: four questions about a drinking problem in a lifetime."""

from healthgym.toolkit import tool


def cage_category(yes_answers: int) -> str:
    """Return positive from two yes answers on. Source: Ewing, JAMA 1984;252:1905-1907."""
    return "positive" if yes_answers >= 2 else "negative"


@tool()
def cage(cut_down: bool, annoyed: bool, guilty: bool, eye_opener: bool) -> str:
    """Score CAGE, 0 to 4; two or more is positive.

    Args:
        cut_down: Felt that drinking should be cut down.
        annoyed: Annoyed by criticism of the drinking.
        guilty: Felt bad or guilty about it.
        eye_opener: A drink first thing in the morning.
    """
    total = cut_down + annoyed + guilty + eye_opener
    return f"CAGE {total}, category {cage_category(total)}"
