"""The estimate: a mean with n and the interval that fits it, so that no score is shown without how sure it is."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

from healthgym.evaluation.statistics import Interval, cluster_bootstrap, cluster_t_interval, wilson_interval

FEW_CLUSTERS = 10
"""Clusters below which a bootstrap has too little to draw from, and is far too sure."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean over n rows from so many clusters.

    value: None when there is no row.
    interval: 95 %; None where nothing can be said, as of the spread of counts that are all alike.
    method: how the interval was made, in words.
    """

    n: int
    clusters: int
    value: float | None
    interval: Interval | None
    method: str

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON-like data."""
        return {
            "n": self.n, "clusters": self.clusters, "value": self.value,
            "ci": None if self.interval is None else list(self.interval), "method": self.method,
        }  # fmt: skip


def score_estimate(scores: Sequence[float], clusters: Sequence[Hashable], *, seed: int = 0) -> Estimate:
    """Return the mean of scores in [0, 1] with the interval that fits them.

    Scores of 0 and 1 with one row a cluster get Wilson's interval, all others a BCa bootstrap over whole clusters.
    Where clusters are few, or all have the same mean, a bootstrap would be too sure; Wilson's interval on the number of
    clusters is taken instead. It errs on the wide side, since no score in [0, 1] varies more than 0 and 1 of its mean.

    Args:
        scores: One number in [0, 1] per row.
        clusters: The patient or question of each row.
        seed: Seed of the bootstrap.
    """
    n, count = len(scores), len(set(clusters))
    if n == 0:
        return Estimate(n=0, clusters=0, value=None, interval=None, method="none: no rows")
    mean = fsum(scores) / n
    if count == n and is_binary(scores):
        return Estimate(n=n, clusters=n, value=mean, interval=wilson_interval(round(fsum(scores)), n), method="Wilson")
    if count < FEW_CLUSTERS or _cluster_means_agree(scores, clusters):
        interval = wilson_interval(min(mean * count, count), count)
        return Estimate(n=n, clusters=count, value=mean, interval=interval, method="Wilson on clusters")
    interval = cluster_bootstrap(scores, clusters, method="bca", seed=seed)
    return Estimate(n=n, clusters=count, value=mean, interval=interval, method="BCa bootstrap over clusters")


def mean_estimate(values: Sequence[float], clusters: Sequence[Hashable], *, seed: int = 0) -> Estimate:
    """Return the mean of values on any scale with a BCa bootstrap over clusters; no interval where they do not vary.

    Few clusters get Student's t instead.
    """
    n, count = len(values), len(set(clusters))
    if n == 0:
        return Estimate(n=0, clusters=0, value=None, interval=None, method="none: no rows")
    mean = fsum(values) / n
    if count < 2 or _cluster_means_agree(values, clusters):
        return Estimate(n=n, clusters=count, value=mean, interval=None, method="none: clusters do not vary")
    if count < FEW_CLUSTERS:
        interval = cluster_t_interval(values, clusters)
        return Estimate(n=n, clusters=count, value=mean, interval=interval, method="Student's t over clusters")
    interval = cluster_bootstrap(values, clusters, method="bca", seed=seed)
    return Estimate(n=n, clusters=count, value=mean, interval=interval, method="BCa bootstrap over clusters")


def is_binary(scores: Sequence[float]) -> bool:
    """Say whether every score is 0 or 1."""
    return all(score in (0.0, 1.0) for score in scores)


def _cluster_means_agree(scores: Sequence[float], clusters: Sequence[Hashable]) -> bool:
    by_cluster: dict[Hashable, list[float]] = {}
    for score, cluster in zip(scores, clusters, strict=True):
        by_cluster.setdefault(cluster, []).append(score)
    means = [fsum(group) / len(group) for group in by_cluster.values()]
    return max(means) - min(means) < 1e-12
