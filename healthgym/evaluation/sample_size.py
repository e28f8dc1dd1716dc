"""How many rows would be enough: for an interval of a given width, against a floor, and between two runs."""

from math import ceil, sqrt
from statistics import NormalDist

from healthgym.evaluation.effects import cohens_h


def required_for_width(rate: float, half_width: float, *, confidence: float = 0.95) -> int:
    """Return how many independent rows give Wilson's interval at most `half_width` on either side of its middle.

    Half the width of Wilson's interval is z sqrt(p(1-p)/n + z^2/(4n^2)) / (1 + z^2/n), solved for the smallest n.

    Args:
        rate: Expected success rate in [0, 1].
        half_width: Half the width of the interval, in (0, 0.5).
        confidence: Coverage of the interval.

    Raises:
        ValueError: an argument is out of range.
    """
    _check_rate("rate", rate)
    if not 0 < half_width < 0.5:
        raise ValueError(f"half_width must lie between 0 and 0.5, got {half_width}")
    z2 = _z(0.5 + confidence / 2) ** 2
    spread, w2 = rate * (1 - rate), half_width**2
    # w^2 (1 + z2/n)^2 = z2 p(1-p)/n + z2^2/(4 n^2), times n^2: a quadratic in n with one positive root.
    b = 2 * w2 * z2 - z2 * spread
    c = z2 * z2 * (w2 - 0.25)
    return max(1, ceil((-b + sqrt(b * b - 4 * w2 * c)) / (2 * w2) - 1e-9))


def required_for_one(rate: float, floor: float, *, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Return how many independent rows tell a rate from a fixed floor, two-sided; None when they are equal.

    Source: Fleiss, Levin and Paik, Statistical Methods for Rates and Proportions, 3rd ed. 2003, ch. 2.

    Raises:
        ValueError: an argument is out of range.
    """
    _check_rate("rate", rate)
    _check_rate("floor", floor)
    if rate == floor:
        return None
    z_alpha, z_power = _z(1 - alpha / 2), _z(power)
    root = z_alpha * sqrt(floor * (1 - floor)) + z_power * sqrt(rate * (1 - rate))
    return max(1, ceil((root / (rate - floor)) ** 2))


def required_for_two(first: float, second: float, *, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Return how many rows each of two runs on different rows needs, by Cohen's h; None when the rates are equal.

    Two runs on the same rows need fewer wherever they agree on most: see `healthgym.evaluation.statistics`,
    `required_pairs`. Source: Cohen, Statistical Power Analysis for the Behavioral Sciences, 2nd ed. 1988, ch. 6.

    Raises:
        ValueError: an argument is out of range.
    """
    effect = cohens_h(first, second)
    if effect == 0:
        return None
    return max(2, ceil(2 * ((_z(1 - alpha / 2) + _z(power)) / effect) ** 2))


def required_for_mean(difference: float, spread: float, *, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Return how many independent pairs show a mean difference, two-sided, by the normal approximation.

    Args:
        difference: Expected mean difference of a pair.
        spread: Standard deviation of the pairs' differences, in the same unit.
        alpha: Chance of a difference where there is none.
        power: Chance of finding the difference.

    Returns:
        None when no difference is expected. Source: Chow, Shao and Wang, Sample Size Calculations in Clinical
        Research, 2nd ed. 2008, sec. 3.1.
    """
    if spread < 0:
        raise ValueError(f"spread must not be negative, got {spread}")
    if difference == 0:
        return None
    return max(2, ceil(((_z(1 - alpha / 2) + _z(power)) * spread / difference) ** 2))


def _z(quantile: float) -> float:
    return NormalDist().inv_cdf(quantile)


def _check_rate(name: str, rate: float) -> None:
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"{name} must lie in [0, 1], got {rate}")
