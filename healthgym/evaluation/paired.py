"""Two runs on the same rows: the difference, its interval, a test, an effect size, and whether they count as alike."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import fsum, isinf
from statistics import stdev
from typing import Any

from healthgym.evaluation.design_effect import design_effect, inflated
from healthgym.evaluation.effects import cohens_d_paired, cohens_h, newcombe_paired, paired_odds_ratio
from healthgym.evaluation.estimate import FEW_CLUSTERS, is_binary
from healthgym.evaluation.sample_size import required_for_mean
from healthgym.evaluation.statistics import (
    Interval,
    cluster_bootstrap,
    cluster_t_interval,
    mcnemar_exact,
    required_pairs,
    sign_flip_test,
)

ALIKE_CONFIDENCE = 0.9
"""Two one-sided tests at 5 % are a 90 % interval within the margin. Schuirmann, J Pharmacokinet Biopharm 1987;15:657-680."""


@dataclass(frozen=True, kw_only=True)
class Paired:
    """Two runs on n rows; differences are the second less the first.

    gained, lost: rows where the second is better, and worse.
    interval: 95 %, None where nothing can be said.
    p_adjusted: Holm's, set where several differences are tested together.
    effect: Cohen's h for scores of 0 and 1, d_z of the differences otherwise; None where there is no spread.
    odds_ratio: gained over lost, with its interval; None unless scores are 0 and 1.
    required_n: rows in clusters like these that show this difference with 80 % power at 5 %; None where there is none.
    alike: whether the 90 % interval lies within `margin` either side of 0.
    is_share: whether all scores lie in [0, 1]; counts and lengths do not, and have neither percent nor points.
    """

    n: int
    clusters: int
    first: float
    second: float
    difference: float
    interval: Interval | None
    interval_method: str
    p_value: float
    test: str
    gained: int
    lost: int
    effect: float | None
    effect_name: str
    odds_ratio: tuple[float, Interval] | None
    required_n: int | None
    margin: float
    alike: bool
    p_adjusted: float | None = None
    is_share: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON-like data; infinite odds become None."""
        odds = None
        if self.odds_ratio is not None:
            ratio, ends = self.odds_ratio
            odds = {"value": _finite(ratio), "ci": [_finite(end) for end in ends]}
        return {
            "n": self.n, "clusters": self.clusters, "first": self.first, "second": self.second,
            "difference": self.difference, "ci": None if self.interval is None else list(self.interval),
            "ci_method": self.interval_method, "p_value": self.p_value, "p_adjusted": self.p_adjusted,
            "test": self.test, "gained": self.gained, "lost": self.lost,
            "effect": {"name": self.effect_name, "value": self.effect}, "odds_ratio": odds,
            "required_n": self.required_n, "margin": self.margin, "alike": self.alike,
        }  # fmt: skip


def compare_scores(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    margin: float = 0.05,
    seed: int = 0,
) -> Paired:
    """Compare two runs on the same rows, in the same order.

    Scores of 0 and 1 with one row a cluster get McNemar's exact test and Newcombe's interval; all others flip the
    signs of whole clusters and bootstrap them (BCa). Fewer than ten clusters are too few to draw from: those of 0 and 1 get
    Newcombe's interval on the number of clusters, others Student's t.

    Args:
        first: Scores of the first run.
        second: Scores of the second run.
        clusters: The patient or question of each row.
        margin: Difference that is too small to matter.
        seed: Seed of the resampling.

    Raises:
        ValueError: the runs differ in length or are empty.
    """
    n, count = len(first), len(set(clusters))
    if n == 0 or n != len(second):
        raise ValueError(f"paired runs need the same rows, at least one; got {n} and {len(second)}")
    differences = [b - a for a, b in zip(first, second, strict=True)]
    gained, lost = sum(each > 0 for each in differences), sum(each < 0 for each in differences)
    binary = is_binary(first) and is_binary(second)
    rates = fsum(first) / n, fsum(second) / n
    interval, method = _interval(first, second, differences, clusters, 0.95, seed)
    narrower, _ = _interval(first, second, differences, clusters, ALIKE_CONFIDENCE, seed)
    exact = binary and count == n
    if binary:
        required = required_pairs(gained / n, lost / n)
    else:
        required = required_for_mean(fsum(differences) / n, stdev(differences)) if n > 1 else None
    required = inflated(required, design_effect(differences, clusters))
    return Paired(
        n=n,
        clusters=count,
        first=rates[0],
        second=rates[1],
        difference=fsum(differences) / n,
        interval=interval,
        interval_method=method,
        p_value=mcnemar_exact(gained, lost) if exact else sign_flip_test(differences, clusters, seed=seed),
        test="McNemar, exact" if exact else "sign flips of clusters",
        gained=gained,
        lost=lost,
        effect=cohens_h(*rates) if binary else cohens_d_paired(differences),
        effect_name="Cohen's h" if binary else "Cohen's d_z",
        odds_ratio=paired_odds_ratio(gained, lost) if binary else None,
        required_n=required,
        margin=margin,
        alike=narrower is not None and -margin < narrower[0] and narrower[1] < margin,
        is_share=all(0.0 <= score <= 1.0 for score in (*first, *second)),
    )


def _interval(
    first: Sequence[float],
    second: Sequence[float],
    differences: Sequence[float],
    clusters: Sequence[Hashable],
    confidence: float,
    seed: int,
) -> tuple[Interval | None, str]:
    n, count = len(first), len(set(clusters))
    sums: dict[Hashable, float] = {}
    for difference, cluster in zip(differences, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + difference
    still = max(sums.values()) - min(sums.values()) < 1e-12
    if is_binary(first) and is_binary(second) and (count == n or count < FEW_CLUSTERS or still):
        pairs = list(zip(first, second, strict=True))
        cells = [sum(pair == cell for pair in pairs) * count / n for cell in ((1, 1), (1, 0), (0, 1), (0, 0))]
        both, lost, gained, neither = cells
        return newcombe_paired(both, lost, gained, neither, confidence), "Newcombe, paired" + (
            "" if count == n else ", on clusters"
        )
    if still:
        return None, "none: every cluster differs alike"
    if count < FEW_CLUSTERS:
        return cluster_t_interval(differences, clusters, confidence), "Student's t over clusters"
    interval = cluster_bootstrap(differences, clusters, confidence=confidence, method="bca", seed=seed)
    return interval, "BCa bootstrap over clusters"


def _finite(value: float) -> float | None:
    return None if isinf(value) else value
