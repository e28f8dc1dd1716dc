"""Intervals, paired tests and pass@k: how sure a measured difference is, and how many tasks it would take."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, comb, fsum, sqrt
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from healthgym.evaluation.design_effect import design_effect, inflated

Interval = tuple[float, float]
Array = NDArray[Any]
_DRAWS_AT_ONCE = 4_000_000
"""Cluster draws held in memory together: about 100 MB."""
STUDENT: Mapping[float, tuple[float, ...]] = {
    0.95: (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060),
    0.9: (6.3138, 2.9200, 2.3534, 2.1318, 2.0150, 1.9432, 1.8946, 1.8595),
}
"""Two-sided quantiles of Student's t by confidence, for 1 to 8 degrees of freedom."""
_MOST_FLIPPED = 13
"""Clusters up to which every pattern of signs is tried."""


def wilson_interval(successes: float, n: float, confidence: float = 0.95) -> Interval:
    """Return Wilson's score interval of a success rate; (0, 1) when nothing was measured.

    Successes and n need not be whole: the sum of scores in [0, 1] over so many rows has an interval on the wide side.

    Source: Wilson, J Am Stat Assoc 1927;22:209-212.

    Raises:
        ValueError: successes do not lie in [0, n], or confidence not in (0, 1).
    """
    _check_confidence(confidence)
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie in [0, n], got {successes} of {n}")
    if n == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    rate, spread = successes / n, z * z / n
    centre = (rate + spread / 2) / (1 + spread)
    half = z * sqrt(rate * (1 - rate) / n + spread / (4 * n)) / (1 + spread)
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return low, high


def cluster_bootstrap(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    resamples: int = 2000,
    confidence: float = 0.95,
    method: Literal["percentile", "bca"] = "percentile",
    seed: int = 0,
) -> Interval:
    """Return the bootstrap interval of a mean whose values are alike within clusters (patients, tasks, questions).

    Whole clusters are drawn with replacement, and the mean is taken over all their values. With a single cluster, or
    values that are all equal, every draw is the same and the interval has no width.

    Args:
        values: One number per row.
        clusters: The cluster of each row.
        resamples: Number of draws.
        confidence: Coverage of the interval.
        method: percentile takes the draws' quantiles as they are; bca corrects them for bias and skewness, the latter
            by leaving out one cluster at a time. Source: Efron, J Am Stat Assoc 1987;82:171-185.
        seed: Seed of the draws; the same seed gives the same interval.

    Raises:
        ValueError: no values, or as many clusters as values are not given.
    """
    _check_confidence(confidence)
    if not len(values) or len(values) != len(clusters):
        raise ValueError(
            f"need one cluster per value and at least one, got {len(values)} values, {len(clusters)} clusters"
        )
    grouped: dict[Hashable, list[float]] = defaultdict(list)
    for value, cluster in zip(values, clusters, strict=True):
        grouped[cluster].append(float(value))
    sums = np.array([fsum(group) for group in grouped.values()])
    sizes = np.array([len(group) for group in grouped.values()])
    means = _resampled_means(sums, sizes, resamples, seed)
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if method == "bca":
        tails = _bca_tails(sums, sizes, means, tails)
    low, high = np.quantile(means, tails)
    return float(low), float(high)


def cluster_t_interval(values: Sequence[float], clusters: Sequence[Hashable], confidence: float = 0.95) -> Interval:
    """Return Student's t interval of a mean over two to nine clusters, which are too few to be drawn from.

    The mean is a ratio of sums over clusters; its variance is that of the clusters' residuals, by linearisation, with one
    degree of freedom less than there are clusters. Source: Cochran, Sampling Techniques, 3rd ed. 1977, sec. 9A.1.

    Raises:
        ValueError: the clusters or the confidence are none that `STUDENT` has, or as many clusters as values are not given.
    """
    residuals: dict[Hashable, float] = defaultdict(float)
    mean = fsum(values) / max(1, len(values))
    for value, cluster in zip(values, clusters, strict=True):
        residuals[cluster] += value - mean
    count = len(residuals)
    if confidence not in STUDENT or not 2 <= count <= 1 + len(STUDENT[confidence]):
        raise ValueError(f"need two to nine clusters at 90 or 95 %, got {count} at {confidence:.0%}")
    spread = fsum(residual**2 for residual in residuals.values()) * count / (count - 1)
    half = STUDENT[confidence][count - 2] * sqrt(spread) / len(values)
    return mean - half, mean + half


def _resampled_means(sums: Array, sizes: Array, resamples: int, seed: int) -> Array:
    """Return the (resamples,) means over clusters drawn with replacement, in blocks that bound the memory.

    Where few clusters differ, as with scores of 0 and 1, how often each kind is drawn is drawn at once.
    """
    rng, count = np.random.default_rng(seed), len(sums)
    kinds, times = np.unique(np.stack([sums, sizes], axis=1), axis=0, return_counts=True)
    if 8 * len(kinds) <= count:
        drawn = rng.multinomial(count, times / count, size=resamples)
        return (drawn @ kinds[:, 0]) / (drawn @ kinds[:, 1])
    block = max(1, _DRAWS_AT_ONCE // count)
    means = np.empty(resamples)
    for start in range(0, resamples, block):
        drawn = rng.integers(count, size=(min(block, resamples - start), count))
        means[start : start + block] = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    return means


def _bca_tails(sums: Array, sizes: Array, means: Array, tails: Array) -> Array:
    """Return the quantiles to take instead of `tails`; `tails` themselves where the draws say nothing of the bias."""
    mean = sums.sum() / sizes.sum()
    below = ((means < mean).mean() + (means <= mean).mean()) / 2  # draws equal to the mean count half
    if len(sums) < 2 or not 0 < below < 1 or np.ptp(means) < 1e-12:
        return tails
    without = (sums.sum() - sums) / (sizes.sum() - sizes)
    skew = without.mean() - without
    squares = (skew**2).sum()
    acceleration = (skew**3).sum() / (6 * squares**1.5) if squares > 0 else 0.0
    normal = NormalDist()
    bias = normal.inv_cdf(float(below))
    shifted = [bias + normal.inv_cdf(float(tail)) for tail in tails]
    return np.array([normal.cdf(bias + z / (1 - acceleration * z)) for z in shifted])


@dataclass(frozen=True, kw_only=True)
class PairedComparison:
    """Two runs on the same rows: `difference` is the second less the first."""

    n: int
    gained: int
    """Rows that only the second got right."""
    lost: int
    """Rows that only the first got right."""
    difference: float
    interval: Interval
    """Of the difference, from a bootstrap over clusters."""
    p_value: float
    """McNemar's exact test, two-sided; where rows share clusters, of sign flips over clusters."""
    odds_ratio: float
    """Gained over lost; infinite when nothing was lost, 1 when the runs agree on every row."""
    required_n: int | None
    """Rows in clusters like these that would show this difference with 80 % power at 5 %; None when there is none."""

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON-like data; an infinite odds ratio becomes None."""
        odds = self.odds_ratio if self.odds_ratio != float("inf") else None
        return {
            "n": self.n, "gained": self.gained, "lost": self.lost, "difference": self.difference,
            "ci": list(self.interval), "p_value": self.p_value, "odds_ratio": odds, "required_n": self.required_n,
        }  # fmt: skip


def compare_paired(
    first: Sequence[bool], second: Sequence[bool], clusters: Sequence[Hashable] | None = None, *, seed: int = 0
) -> PairedComparison:
    """Compare two runs on the same rows and seeds, in the same order.

    Args:
        first: Success of the first run by row.
        second: Success of the second.
        clusters: Patient or task of each row, for interval and test; every row its own when None.
        seed: Seed of the bootstrap.

    Raises:
        ValueError: the runs differ in length, or are empty.
    """
    if not len(first) or len(first) != len(second):
        raise ValueError(f"paired runs need the same rows, at least one; got {len(first)} and {len(second)}")
    n = len(first)
    gained = sum(bool(b) and not a for a, b in zip(first, second, strict=True))
    lost = sum(bool(a) and not b for a, b in zip(first, second, strict=True))
    differences = [float(b) - float(a) for a, b in zip(first, second, strict=True)]
    shared = clusters if clusters is not None else range(n)
    if len(set(shared)) == n:
        p_value = mcnemar_exact(gained, lost)
    else:
        p_value = sign_flip_test(differences, shared, seed=seed)
    return PairedComparison(
        n=n,
        gained=gained,
        lost=lost,
        difference=(gained - lost) / n,
        interval=cluster_bootstrap(differences, shared, seed=seed),
        p_value=p_value,
        odds_ratio=gained / lost if lost else (float("inf") if gained else 1.0),
        required_n=inflated(required_pairs(gained / n, lost / n), design_effect(differences, shared)),
    )


def sign_flip_test(
    differences: Sequence[float], clusters: Sequence[Hashable], *, resamples: int = 9999, seed: int = 0
) -> float:
    """Return the two-sided p-value that paired differences have mean 0, rows of a cluster flipped together.

    Were the two runs alike, each cluster's sum of differences would be as likely with the other sign. All signs are
    tried up to 2^13, else `resamples` random ones. With one row of -1, 0 or 1 a cluster this is McNemar's exact test.
    Source: Fisher, The Design of Experiments, 1935, ch. 3.

    Args:
        differences: One number per row, second run less first.
        clusters: The cluster of each row.
        resamples: Random sign patterns where there are too many for all.
        seed: Seed of the patterns.

    Raises:
        ValueError: as many clusters as differences are not given.
    """
    sums: dict[Hashable, float] = defaultdict(float)
    for difference, cluster in zip(differences, clusters, strict=True):
        sums[cluster] += difference
    moved = np.array([total for total in sums.values() if abs(total) > 1e-12])
    if not len(moved):
        return 1.0
    seen = abs(moved.sum()) - 1e-9 * np.abs(moved).sum()  # sums in another order differ in their last digits
    if len(moved) <= _MOST_FLIPPED:
        bits = np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved)) & 1
        return float((np.abs((1 - 2 * bits) @ moved) >= seen).mean())
    rng, block = np.random.default_rng(seed), max(1, _DRAWS_AT_ONCE // len(moved))
    extreme = 0
    for start in range(0, resamples, block):
        signs = 1.0 - 2.0 * rng.integers(2, size=(min(block, resamples - start), len(moved)))
        extreme += int((np.abs(signs @ moved) >= seen).sum())
    return (extreme + 1) / (resamples + 1)


def mcnemar_exact(gained: int, lost: int) -> float:
    """Return the exact two-sided p-value of McNemar's test from the two counts of rows that differ.

    Source: McNemar, Psychometrika 1947;12:153-157; exact binomial form.
    """
    n = gained + lost
    if n == 0:
        return 1.0
    tail = sum(comb(n, k) for k in range(min(gained, lost) + 1)) / 2**n
    return min(1.0, 2 * tail)


def required_pairs(gained: float, lost: float, *, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Return how many paired rows show a difference between two shares of rows that differ; None when they are equal.

    Source: Connor, Biometrics 1987;43:207-211, eq. 3.
    """
    difference, discordant = gained - lost, gained + lost
    if difference == 0:
        return None
    z_alpha, z_power = NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(power)
    root = z_alpha * sqrt(discordant) + z_power * sqrt(max(0.0, discordant - difference**2))
    return ceil((root / difference) ** 2)


def pass_at_k(n: int, correct: int, k: int) -> float:
    """Return the unbiased chance that at least one of k attempts is right, from n attempts of which some were.

    Source: Chen et al., arXiv:2107.03374, eq. 1.
    """
    _check_attempts(n, correct, k)
    return 1.0 - comb(n - correct, k) / comb(n, k)


def pass_hat_k(n: int, correct: int, k: int) -> float:
    """Return the unbiased chance that all of k attempts are right (pass^k). Source: Yao et al., arXiv:2406.12045."""
    _check_attempts(n, correct, k)
    return comb(correct, k) / comb(n, k)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number by Holm's step-down method, in the order given.

    Source: Holm, Scand J Stat 1979;6:65-70.
    """
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, (len(p_values) - rank) * p_values[index])
        adjusted[index] = min(1.0, highest)
    return adjusted


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")


def _check_attempts(n: int, correct: int, k: int) -> None:
    if not 1 <= k <= n:
        raise ValueError(f"k must lie in [1, n], got k={k} of n={n} attempts")
    if not 0 <= correct <= n:
        raise ValueError(f"correct must lie in [0, n], got {correct} of {n}")
