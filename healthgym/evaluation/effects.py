"""Effect sizes: how large a difference is, apart from how sure."""

from collections.abc import Sequence
from math import asin, inf, sqrt
from statistics import fmean, stdev

from healthgym.evaluation.statistics import Interval, wilson_interval


def cohens_h(first: float, second: float) -> float:
    """Return Cohen's h, second less first: 2 asin(sqrt(p2)) - 2 asin(sqrt(p1)), in radians within [-pi, pi].

    Source: Cohen, Statistical Power Analysis for the Behavioral Sciences, 2nd ed. 1988, ch. 6.

    Raises:
        ValueError: a rate lies outside [0, 1].
    """
    for name, rate in (("first", first), ("second", second)):
        if not 0.0 <= rate <= 1.0:
            raise ValueError(f"{name} must lie in [0, 1], got {rate}")
    return 2 * asin(sqrt(second)) - 2 * asin(sqrt(first))


def cohens_d_paired(differences: Sequence[float]) -> float | None:
    """Return the mean of paired differences over their standard deviation (d_z); None where that is 0 or unknown.

    Source: Cohen, Statistical Power Analysis for the Behavioral Sciences, 2nd ed. 1988, ch. 2.
    """
    if len(differences) < 2:
        return None
    spread = stdev(differences)
    return fmean(differences) / spread if spread > 0 else None


def paired_odds_ratio(gained: int, lost: int, confidence: float = 0.95) -> tuple[float, Interval]:
    """Return gained over lost, the odds ratio of matched pairs, with an interval.

    The share of gained among the rows that differ has Wilson's interval, whose ends are turned into odds. With no
    row that differs the ratio is 1 and the interval (0, inf).
    """
    low, high = wilson_interval(gained, gained + lost, confidence)
    ratio = gained / lost if lost else (inf if gained else 1.0)
    return ratio, (low / (1 - low), high / (1 - high) if high < 1 else inf)


def newcombe_paired(both: float, first: float, second: float, neither: float, confidence: float = 0.95) -> Interval:
    """Return the interval of a difference of two success rates on the same rows, second less first.

    Wilson's limits of the two rates are squared and added, less what their correlation phi explains.
    Source: Newcombe, Stat Med 1998;17:2635-2650, method 10.

    Args:
        both: Rows that both got right.
        first: Rows that only the first got right.
        second: Rows that only the second got right.
        neither: Rows that neither got right.
        confidence: Coverage of the interval.

    Raises:
        ValueError: a count is negative, or there are no rows.
    """
    n = both + first + second + neither
    if min(both, first, second, neither) < 0 or n <= 0:
        raise ValueError(f"counts must not be negative and not all 0, got {both}, {first}, {second}, {neither}")
    one, other = (both + first) / n, (both + second) / n
    low_one, high_one = wilson_interval(both + first, n, confidence)
    low_other, high_other = wilson_interval(both + second, n, confidence)
    phi = _phi(both, first, second, neither)
    below, above = other - low_other, high_other - other
    down, up = one - low_one, high_one - one
    return (
        max(-1.0, other - one - sqrt(max(0.0, below**2 - 2 * phi * below * up + up**2))),
        min(1.0, other - one + sqrt(max(0.0, above**2 - 2 * phi * above * down + down**2))),
    )


def _phi(both: float, first: float, second: float, neither: float) -> float:
    """Return the correlation of the two outcomes, a positive one made smaller by a continuity correction."""
    margins = (both + first) * (second + neither) * (both + second) * (first + neither)
    if margins == 0:
        return 0.0
    product = both * neither - first * second
    if product > 0:
        product = max(0.0, product - (both + first + second + neither) / 2)
    return product / sqrt(margins)
