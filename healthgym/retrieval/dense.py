"""Nearest vectors: by numpy for small bases, by FAISS for large ones."""

from pathlib import Path
from typing import Any, Protocol

import numpy as np

from healthgym.errors import MissingDependency, PassageIndexError
from healthgym.retrieval.ranking import Ranking, top

EXACT_BELOW = 20_000
"""Up to this many vectors an exact search is quick enough to need no graph."""

LINKS, BUILD_BREADTH, SEARCH_BREADTH = 16, 100, 64
"""HNSW: links a node, candidates kept while building and, at least, while searching."""

TRAINING_ROWS = 50_000
"""Vectors that the 8-bit quantiser takes its ranges from."""


class DenseIndex(Protocol):
    """Ranks vectors by inner product with a query vector."""

    def search(self, vectors: np.ndarray, depth: int, allowed: np.ndarray | None = None) -> list[Ranking]:
        """Rank at most `depth` positions for each row of `vectors` (q, d); `allowed` is bool (n,) or None for all."""
        ...


class NumpyDense:
    """Exact search by one matrix product. Scores are rounded to 6 decimals, so that ties are ties everywhere."""

    kind = "exact (numpy)"

    def __init__(self, vectors: np.ndarray) -> None:
        self.vectors = vectors

    def search(self, vectors: np.ndarray, depth: int, allowed: np.ndarray | None = None) -> list[Ranking]:
        """See DenseIndex."""
        return rank_exactly(self.vectors, vectors, depth, None if allowed is None else np.flatnonzero(allowed))


class FaissDense:
    """A FAISS index: exact, or an HNSW graph over 8-bit vectors. A filter that leaves few passages is searched exactly."""

    def __init__(self, index: Any, faiss: Any) -> None:
        self.index, self._faiss = index, faiss
        self.is_graph = hasattr(index, "hnsw")

    def search(self, vectors: np.ndarray, depth: int, allowed: np.ndarray | None = None) -> list[Ranking]:
        """See DenseIndex."""
        if self.index.ntotal == 0 or len(vectors) == 0:
            return [(np.zeros(0, np.int64), np.zeros(0, np.float32)) for _ in vectors]
        if allowed is not None and (count := int(np.count_nonzero(allowed))) <= EXACT_BELOW and count < len(allowed):
            positions = np.flatnonzero(allowed)
            return rank_exactly(self.index.reconstruct_batch(positions), vectors, depth, positions, aligned=True)
        scores, positions = self.index.search(
            vectors, min(depth, self.index.ntotal), params=self._parameters(depth, allowed)
        )
        return [self._ranking(*row) for row in zip(scores, positions, strict=True)]

    def _parameters(self, depth: int, allowed: np.ndarray | None) -> Any:
        options: dict[str, Any] = {}
        if allowed is not None:
            bits = np.packbits(allowed, bitorder="little")
            options["sel"] = self._faiss.IDSelectorBitmap(bits)
        if not self.is_graph:
            return self._faiss.SearchParameters(**options) if options else None
        share = 1.0 if allowed is None else np.count_nonzero(allowed) / len(allowed)
        return self._faiss.SearchParametersHNSW(efSearch=int(max(SEARCH_BREADTH, depth) / share), **options)

    @staticmethod
    def _ranking(scores: np.ndarray, positions: np.ndarray) -> Ranking:
        kept = (positions >= 0) & (scores > 0)
        scores, positions = np.round(scores[kept], 6), positions[kept]
        order = np.lexsort((positions, -scores))
        return positions[order], scores[order]


def rank_exactly(
    stored: np.ndarray, vectors: np.ndarray, depth: int, positions: np.ndarray | None, *, aligned: bool = False
) -> list[Ranking]:
    """Rank by inner product, over all rows of `stored` or those at `positions` (of which `aligned` rows are given)."""
    chosen = stored if positions is None or aligned else stored[positions]
    scores = np.round(vectors @ chosen.T, 6)
    return [top(row, depth, positions) for row in scores]


def build_faiss(vectors: np.ndarray, kind: str, progress: Any = None, batch: int = 8192) -> Any:
    """Build a FAISS index of `kind` 'exact' or 'hnsw' from float32 (n, d), which may be memory-mapped.

    Args:
        vectors: Unit vectors.
        kind: 'exact' or 'hnsw'.
        progress: Called with (rows done) after each batch.
        batch: Rows added at a time; bounds memory.
    """
    faiss = import_faiss()
    count, dimension = vectors.shape
    if kind == "exact":
        index = faiss.IndexFlatIP(dimension)
    else:
        index = faiss.index_factory(dimension, f"HNSW{LINKS}_SQ8", faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = BUILD_BREADTH
        index.train(np.ascontiguousarray(vectors[:: max(1, count // TRAINING_ROWS)]))
    for start in range(0, count, batch):
        index.add(np.ascontiguousarray(vectors[start : start + batch]))
        if progress:
            progress(min(start + batch, count))
    return index


def load_faiss(path: Path) -> FaissDense:
    """Open a saved FAISS index, memory-mapped where this FAISS can."""
    faiss = import_faiss()
    try:
        return FaissDense(faiss.read_index(str(path), getattr(faiss, "IO_FLAG_MMAP_IFC", 0)), faiss)
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise PassageIndexError(f"{path} is damaged ({reason}). Build it again: healthgym kb build") from error


def import_faiss() -> Any:
    """Return the faiss module.

    Raises:
        MissingDependency: it is not installed.
    """
    try:
        import faiss
    except ImportError as error:
        raise MissingDependency.extra("A passage index", "kb") from error
    return faiss
