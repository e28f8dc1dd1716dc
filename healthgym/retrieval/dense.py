"""Nearest vectors: by numpy for small bases, by FAISS for large ones."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from healthgym.errors import MissingDependency, PassageIndexError
from healthgym.retrieval.ranking import Ranking, top
from healthgym.retrieval.vector_file import Vectors

EXACT_BELOW = 20_000
"""Up to this many vectors an exact search is quick enough to need no graph."""

LINKS, BUILD_BREADTH, SEARCH_BREADTH = 16, 100, 256
"""HNSW: links a node, candidates kept while building and, at least, while searching."""

FILTERED_EXACT = 50_000
"""A filter that leaves this few vectors of a graph is searched vector by vector: a walk of the graph misses many of them
when they lie far from the query (recall@10 of 0.75 where one corpus of four was allowed)."""

TRAINING_ROWS = 50_000
"""Vectors that the 8-bit quantiser takes its ranges from, at most."""

ADDED_AT_A_TIME = 8192


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
        if allowed is None:
            return rank_exactly(self.vectors, vectors, depth, None)
        positions = np.flatnonzero(allowed)
        return rank_exactly(self.vectors[positions], vectors, depth, positions)


class FaissDense:
    """A FAISS index: exact, or an HNSW graph over 8-bit vectors. A narrow filter bypasses the graph."""

    def __init__(self, index: Any, faiss: Any) -> None:
        self.index, self._faiss = index, faiss
        self.is_graph = hasattr(index, "hnsw")

    def search(self, vectors: np.ndarray, depth: int, allowed: np.ndarray | None = None) -> list[Ranking]:
        """See DenseIndex."""
        if self.index.ntotal == 0 or len(vectors) == 0:
            return [(np.zeros(0, np.int64), np.zeros(0, np.float32)) for _ in vectors]
        index, parameters = self._plan(depth, allowed)
        scores, positions = index.search(vectors, min(depth, self.index.ntotal), params=parameters)
        if index is self.index and self.is_graph:
            self._feed_starved(vectors, depth, allowed, scores, positions)
        return [self._ranking(*row) for row in zip(scores, positions, strict=True)]

    def vector(self, position: int) -> np.ndarray:
        """Return the stored vector at a position, float32 (d,); a graph keeps 8 bits a number."""
        return np.asarray(self.index.reconstruct(position), dtype=np.float32)

    def _plan(self, depth: int, allowed: np.ndarray | None) -> tuple[Any, Any]:
        """Return the index to ask (the graph, or the vectors below it) and its search parameters."""
        count = self.index.ntotal if allowed is None else int(np.count_nonzero(allowed))
        options = {} if allowed is None else {"sel": self._selector(allowed)}
        if not self.is_graph:
            return self.index, self._faiss.SearchParameters(**options) if options else None
        if allowed is not None and count <= FILTERED_EXACT:
            return self._faiss.downcast_index(self.index.storage), self._faiss.SearchParameters(**options)
        breadth = int(max(SEARCH_BREADTH, depth) * self.index.ntotal / count)
        return self.index, self._faiss.SearchParametersHNSW(efSearch=breadth, **options)

    def _feed_starved(
        self, vectors: np.ndarray, depth: int, allowed: np.ndarray | None, scores: np.ndarray, positions: np.ndarray
    ) -> None:
        """Search vector by vector for queries whose walk of the graph met too few allowed ones, in place."""
        count = self.index.ntotal if allowed is None else int(np.count_nonzero(allowed))
        starved = np.flatnonzero((positions >= 0).sum(axis=1) < min(depth, count))
        if len(starved):
            parameters = None if allowed is None else self._faiss.SearchParameters(sel=self._selector(allowed))
            storage = self._faiss.downcast_index(self.index.storage)
            scores[starved], positions[starved] = storage.search(vectors[starved], scores.shape[1], params=parameters)

    def _selector(self, allowed: np.ndarray) -> Any:
        return self._faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))

    @staticmethod
    def _ranking(scores: np.ndarray, positions: np.ndarray) -> Ranking:
        kept = (positions >= 0) & (scores > 0)
        scores, positions = np.round(scores[kept], 6), positions[kept]
        order = np.lexsort((positions, -scores))
        return positions[order], scores[order]


def rank_exactly(stored: np.ndarray, vectors: np.ndarray, depth: int, positions: np.ndarray | None) -> list[Ranking]:
    """Rank the rows of `stored` by inner product with each row of `vectors`; `positions` says where the rows belong."""
    return [top(row, depth, positions) for row in np.round(vectors @ stored.T, 6)]


def build_faiss(parts: Sequence[Vectors], kind: str, progress: Callable[[int], None] | None = None) -> Any:
    """Build a FAISS index of `kind` 'exact' or 'hnsw'.

    Args:
        parts: Unit vectors, float32 (n, d) each, in the order they get; only a block of them is in memory at a time.
        kind: 'exact' or 'hnsw'.
        progress: Called with (rows done) after each block.
    """
    faiss = import_faiss()
    dimension = parts[0][:0].shape[1]
    if kind == "exact":
        index = faiss.IndexFlatIP(dimension)
    else:
        index = faiss.index_factory(dimension, f"HNSW{LINKS}_SQ8", faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = BUILD_BREADTH
        _train(index, parts)
    extend(index, parts, progress)
    return index


def _train(index: Any, parts: Sequence[Vectors]) -> None:
    """Set the ranges of 8-bit vectors by a sample, which is let go of before any vector is added."""
    step = max(1, -(-sum(map(len, parts)) // TRAINING_ROWS))
    sample = [part[::step] for part in parts]
    index.train(np.ascontiguousarray(sample[0]) if len(sample) == 1 else np.concatenate(sample))


def extend(index: Any, parts: Sequence[Vectors], progress: Callable[[int], None] | None = None) -> None:
    """Add vectors to a FAISS index, block by block.

    Room for all codes is made first. An index that grows as it goes doubles its room now and then, and holds the old codes
    and their copy at that moment.
    """
    faiss = import_faiss()
    storage = faiss.downcast_index(index.storage) if hasattr(index, "hnsw") else index
    storage.codes.resize((index.ntotal + sum(map(len, parts))) * storage.code_size)
    for part in parts:
        for start in range(0, len(part), ADDED_AT_A_TIME):
            index.add(np.ascontiguousarray(part[start : start + ADDED_AT_A_TIME]))
            if progress:
                progress(index.ntotal)


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
