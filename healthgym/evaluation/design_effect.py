"""The design effect: by how much rows that share a patient or a question tell less than as many independent ones."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from math import ceil, fsum
from typing import overload


def design_effect(values: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """Return the variance of a mean over clustered rows, as a multiple of that over as many independent rows; at least 1.

    With d the difference of a row from the mean, this is the sum over clusters of (sum of d)^2 over the sum of d^2, the
    variance of a ratio of cluster sums by linearisation over that of single rows. Rows by themselves give 1; m equal rows
    in every cluster give m. In expectation it is 1 + (m - 1) r for clusters of m rows that correlate by r within.

    Rows that are all equal say nothing of r, and r = 1 is taken: the mean size of a row's cluster.

    Source: Kish, Survey Sampling, 1965, sec. 5.4 and 8.2; variance as in Cochran, Sampling Techniques, 3rd ed. 1977, ch. 6.

    Args:
        values: One number per row.
        clusters: The cluster of each row.

    Raises:
        ValueError: no values, or as many clusters as values are not given.
    """
    if not len(values) or len(values) != len(clusters):
        raise ValueError(
            f"need one cluster per value and at least one, got {len(values)} values, {len(clusters)} clusters"
        )
    mean = fsum(values) / len(values)
    sums: dict[Hashable, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] += value - mean
    spread = fsum((value - mean) ** 2 for value in values)
    if spread < 1e-12 * len(values):
        return fsum(size**2 for size in Counter(clusters).values()) / len(values)
    return max(1.0, fsum(each**2 for each in sums.values()) / spread)


@overload
def inflated(rows: int, effect: float) -> int: ...
@overload
def inflated(rows: None, effect: float) -> None: ...
@overload
def inflated(rows: int | None, effect: float) -> int | None: ...
def inflated(rows: int | None, effect: float) -> int | None:
    """Return how many clustered rows tell as much as so many independent ones; None stays None."""
    return None if rows is None else ceil(rows * effect - 1e-9)
