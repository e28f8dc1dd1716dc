"""Rankings of positions, best first: cut to the top and fused. Ties go to the earlier passage, everywhere."""

from collections.abc import Sequence

import numpy as np

Ranking = tuple[np.ndarray, np.ndarray]
"""Positions int64 (m,) and scores float32 (m,), best first."""

RRF_CONSTANT = 10
"""The k of reciprocal rank fusion: how little the first ranks stand out. The source takes 60; 10 did better on the questions
of docs/knowledge-base-measurements.md."""


def top(scores: np.ndarray, depth: int, positions: np.ndarray | None = None) -> Ranking:
    """Return the `depth` best positive scores; a score of 0 means that nothing matched.

    Args:
        scores: (n,) floats.
        depth: How many at most.
        positions: (n,) ascending positions the scores belong to; 0 to n - 1 by default.
    """
    kept = np.flatnonzero(scores > 0)
    if len(kept) > depth:
        threshold = np.partition(scores[kept], -depth)[-depth]
        kept = kept[scores[kept] >= threshold]
    order = np.argsort(-scores[kept], kind="stable")[:depth]
    kept = kept[order]
    return (kept if positions is None else positions[kept]).astype(np.int64), scores[kept].astype(np.float32)


def reciprocal_rank_fusion(rankings: Sequence[Ranking], depth: int, weights: Sequence[float] | None = None) -> Ranking:
    """Fuse rankings: a passage scores the sum over rankings of weight / (10 + its rank there, from 1).

    Weights are 1 when not given. Of equal sums the one with the better best rank comes first, then the earlier passage.

    Source: Cormack, Clarke, Buettcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning
    methods", SIGIR 2009, eq. in section 2; there k = 60 and no weights.
    """
    positions = np.concatenate([ranking[0] for ranking in rankings])
    ranks = np.concatenate([np.arange(1, len(ranking[0]) + 1) for ranking in rankings])
    weight = np.repeat(weights or [1.0] * len(rankings), [len(ranking[0]) for ranking in rankings])
    unique, inverse = np.unique(positions, return_inverse=True)
    fused = np.zeros(len(unique))
    np.add.at(fused, inverse, weight / (RRF_CONSTANT + ranks))
    best = np.full(len(unique), np.iinfo(np.int64).max)
    np.minimum.at(best, inverse, ranks)
    order = np.lexsort((unique, best, -np.round(fused, 12)))[:depth]
    return unique[order].astype(np.int64), fused[order].astype(np.float32)
