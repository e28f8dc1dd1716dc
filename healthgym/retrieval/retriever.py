"""Searching passages: dense, lexical or both fused, with filters."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from threading import Lock
from typing import Any, Literal

import numpy as np

from healthgym.errors import MissingDependency, ToolError, nearest
from healthgym.retrieval.dates import date_window
from healthgym.retrieval.dense import DenseIndex
from healthgym.retrieval.encoders import Encoder
from healthgym.retrieval.lexical import LexicalIndex
from healthgym.retrieval.passages import Passage, is_text
from healthgym.retrieval.ranking import Ranking, reciprocal_rank_fusion
from healthgym.retrieval.reranking import RERANK_DEPTH, Reranker, reranked
from healthgym.retrieval.store import PassageStore

Mode = Literal["fused", "dense", "lexical"]
MODES = ("fused", "dense", "lexical")
MAX_QUERY_CHARACTERS = 2_000
MAX_K = 100
FUSION_DEPTH = 50
"""How deep each ranking is read, at least, before they are fused."""

CACHED_QUERIES = 10_000


class QueryError(ToolError, ValueError):
    """A search that cannot be run as asked: the message tells the agent what to change."""


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A passage that a search found."""

    id: str
    score: float
    """Comparable within one result only: reciprocal rank sum, cosine, BM25 or the reranker's, as the mode has it."""

    passage: Passage


class Retriever:
    """Searches one set of passages. Safe to share between threads.

    Args:
        store: The passages.
        dense: Their vectors.
        lexical: Their words; None where bm25s is not installed: fused searches are then dense ones.
        encoder: Encodes queries; must be the one that made the vectors.
        info: What `info` shows beside counts.
        excluded: Ids that no search returns, as an audit lists them.
        reranker: Orders the first 30 hits of a fused search anew; see load_reranker().
    """

    def __init__(
        self,
        store: PassageStore,
        dense: DenseIndex,
        lexical: LexicalIndex | None,
        encoder: Encoder,
        info: dict[str, Any] | None = None,
        excluded: Iterable[str] = frozenset(),
        reranker: Reranker | None = None,
    ) -> None:
        self.reranker = reranker
        self.store, self.encoder = store, encoder
        self.excluded = _ids(excluded)
        self._dense, self._lexical = dense, lexical
        self._info = info or {}
        self._vectors: OrderedDict[bytes, np.ndarray] = OrderedDict()
        self._lock = Lock()

    @property
    def info(self) -> dict[str, Any]:
        """Passages, encoder, lexical ('bm25s' or 'missing'), sources and licences with their counts."""
        return {
            "passages": len(self.store),
            "encoder": self.encoder.name,
            "lexical": "bm25s" if self._lexical else "missing",
            "sources": dict(self.store.sources),
            "licences": dict(self.store.licences),
            **self._info,
        }

    def search(
        self,
        query: str,
        k: int = 5,
        *,
        sources: Iterable[str] | None = None,
        licences: Iterable[str] | None = None,
        since: str | None = None,
        until: str | None = None,
        exclude: Iterable[str] = frozenset(),
        mode: Mode = "fused",
    ) -> list[Hit]:
        """Return at most k hits, best first; fewer where fewer passages have anything in common with the query.

        Args:
            query: 1 to 2,000 characters.
            k: 1 to 100.
            sources: Return passages of these sources only.
            licences: Return passages under these licences only.
            since: Return passages that may be dated this year, month or day ('2019', '2019-05', '2019-05-07') or later.
            until: Return passages that may be dated then or earlier. Passages without a date pass neither filter.
            exclude: Ids never to return, for example the gold evidence of a benchmark's questions.
            mode: 'fused' (reciprocal rank fusion), 'dense' or 'lexical'.

        Raises:
            QueryError: query, k, mode or a filter cannot be used; says what to change.
        """
        return self.search_many(
            [query], k, sources=sources, licences=licences, since=since, until=until, exclude=exclude, mode=mode
        )[0]

    def search_many(
        self,
        queries: Sequence[str],
        k: int = 5,
        *,
        sources: Iterable[str] | None = None,
        licences: Iterable[str] | None = None,
        since: str | None = None,
        until: str | None = None,
        exclude: Iterable[str] = frozenset(),
        mode: Mode = "fused",
    ) -> list[list[Hit]]:
        """Search for each query under the same filters, encoding all new queries in one batch. See search()."""
        texts = [check_query(query) for query in queries]
        check_choice(k, mode)
        if mode == "lexical" and self._lexical is None:
            raise MissingDependency.extra("Lexical search", "kb")
        allowed = self.store.allowed(
            _known("source", sources, self.store.sources),
            _known("licence", licences, self.store.licences),
            self.excluded | _ids(exclude),
            date_window(since, until),
        )
        depth = k if mode != "fused" else max(2 * k, FUSION_DEPTH)
        rankings: list[list[Ranking]] = []
        if mode != "lexical":
            rankings.append(self._dense.search(self._encode(texts), depth, allowed))
        if mode != "dense" and self._lexical is not None:
            rankings.append([self._lexical.search(text, depth, allowed) for text in texts])
        if self.reranker is not None and mode == "fused":
            found = [self._hits(each, max(k, RERANK_DEPTH)) for each in zip(*rankings, strict=True)]
            return [self._rerank(self.reranker, *each)[:k] for each in zip(texts, found, strict=True)]
        return [self._hits(each, k) for each in zip(*rankings, strict=True)]

    def passage(self, passage_id: str) -> Passage:
        """Return a passage by id.

        Raises:
            QueryError: no passage has that id.
        """
        position = self.store.position(passage_id) if isinstance(passage_id, str) else None
        if position is None or passage_id in self.excluded:
            raise QueryError(f"No passage has the id {passage_id!r}. Use an id as a search returned it.")
        return self.store[position]

    def renew_lock(self) -> None:
        """Give up a lock that a thread of the parent process may have held when this process was forked."""
        self._lock = Lock()

    def _hits(self, rankings: Sequence[Ranking], k: int) -> list[Hit]:
        weights = (getattr(self.encoder, "fusion_weight", 1.0), 1.0)
        positions, scores = rankings[0] if len(rankings) == 1 else reciprocal_rank_fusion(rankings, k, weights)
        hits = []
        for position, score in zip(positions[:k].tolist(), scores[:k].tolist(), strict=True):
            passage = self.store[position]
            hits.append(Hit(id=passage.id, score=score, passage=passage))
        return hits

    @staticmethod
    def _rerank(reranker: Reranker, query: str, hits: Sequence[Hit]) -> list[Hit]:
        order = reranked(reranker, query, [hit.passage.full_text for hit in hits]) if hits else []
        return [replace(hits[place], score=score) for place, score in order]

    def _encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return float32 (q, d), from the cache where a text was seen before."""
        keys = [blake2b(text.encode(), digest_size=16).digest() for text in texts]
        with self._lock:
            known = {key: self._vectors[key] for key in keys if key in self._vectors}
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if new:
            known |= zip(new, self.encoder.encode(list(new.values()), is_query=True), strict=True)
        with self._lock:
            for key in known:
                self._vectors[key] = known[key]
                self._vectors.move_to_end(key)
            while len(self._vectors) > CACHED_QUERIES:
                self._vectors.popitem(last=False)
        return np.stack([known[key] for key in keys]) if keys else np.zeros((0, self.encoder.dimension), np.float32)


def check_query(query: Any) -> str:
    """Return the query without surrounding space, or raise QueryError."""
    if not isinstance(query, str):
        raise QueryError(f"query must be text, got {type(query).__name__}")
    text = query.strip()
    if not text:
        raise QueryError("query is empty: say in a few words what to look for")
    if len(text) > MAX_QUERY_CHARACTERS:
        raise QueryError(
            f"query has {len(text)} characters, at most {MAX_QUERY_CHARACTERS} can be searched: shorten it"
        )
    if not is_text(text):
        raise QueryError("query holds half a surrogate pair or a byte that is not UTF-8: write it anew")
    return text


def check_choice(k: Any, mode: Any) -> None:
    """Raise QueryError unless k is 1 to 100 and the mode is known."""
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MAX_K:
        raise QueryError(f"k must be a whole number from 1 to {MAX_K}, got {k!r}")
    if mode not in MODES:
        raise QueryError(f"No search mode {mode!r}.{nearest(str(mode), MODES)}")


def _known(what: str, names: Iterable[str] | None, known: dict[str, int]) -> frozenset[str] | None:
    if names is None:
        return None
    wanted = _ids(names)
    if not wanted:
        raise QueryError(f"the list of {what}s is empty: leave it out to search all of them")
    for name in sorted(wanted):
        if name not in known:
            raise QueryError(f"No passage has the {what} {name!r}.{nearest(name, known)}")
    return wanted


def _ids(names: Iterable[str]) -> frozenset[str]:
    return frozenset((names,)) if isinstance(names, str) else frozenset(names)
