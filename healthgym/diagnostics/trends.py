"""Small statistics of noisy series: where a level changed, how far, and whether that is more than noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from healthgym.diagnostics.run import Series

MIN_STEPS = 12
"""Shorter series are not judged."""
MIN_Z = 4.0
"""How many standard errors a change must measure to be more than noise."""


@dataclass(frozen=True)
class Change:
    """The level of a series at its start and at its end.

    z: their difference in standard errors, from the scatter of neighbouring steps.
    """

    start: float
    end: float
    z: float

    @property
    def ratio(self) -> float:
        """End over start; infinite when the start is 0 and the end is not."""
        if self.start:
            return self.end / self.start
        return float("inf") if self.end else 1.0

    @property
    def is_real(self) -> bool:
        """Whether the difference exceeds noise."""
        return abs(self.z) >= MIN_Z


def window(count: int) -> int:
    """Return how many steps stand for the start or the end of a series of `count`."""
    return max(4, min(20, count // 6))


def change(series: Series) -> Change | None:
    """Return how a series changed from its first to its last steps; None when it is too short to say."""
    values = series.values
    if len(values) < MIN_STEPS:
        return None
    size = window(len(values))
    start, end = fmean(values[:size]), fmean(values[-size:])
    error = noise(values) * (2 / size) ** 0.5
    difference = end - start
    return Change(
        start, end, difference / error if error > 1e-12 else (0.0 if abs(difference) < 1e-9 else 1e9 * difference)
    )


def noise(values: Sequence[float]) -> float:
    """Return the standard deviation of one step about its level, from differences of neighbours: trends drop out.

    The median makes it blind to a single jump; 0.9539 = 0.6745 * sqrt(2) turns it into a deviation for normal noise.
    """
    steps = [abs(after - before) for before, after in pairwise(values)]
    return median(steps) / 0.9539 if steps else 0.0


def peak(series: Series) -> float:
    """Return the highest level that a window of steps held."""
    size = min(len(series), window(len(series)))
    return max(fmean(series.values[at : at + size]) for at in range(len(series) - size + 1))


def slope(values: Sequence[float]) -> float:
    """Return the least-squares slope of a series, per step; 0 for fewer than two values."""
    count = len(values)
    if count < 2:
        return 0.0
    centre, mean = (count - 1) / 2, fmean(values)
    spread = sum((index - centre) ** 2 for index in range(count))
    return sum((index - centre) * (value - mean) for index, value in enumerate(values)) / spread


def change_point(series: Series) -> int | None:
    """Return the step at which the level changed: the split into two levels that leaves the least squared error."""
    values, best, at = series.values, float("inf"), None
    if len(values) < 4:
        return None
    for split in range(2, len(values) - 1):
        error = _squares(values[:split]) + _squares(values[split:])
        if error < best:
            best, at = error, series.steps[split]
    return at


def _squares(values: Sequence[float]) -> float:
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values)
