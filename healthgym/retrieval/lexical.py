"""BM25 over the words of titles, sections and texts, by bm25s."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from healthgym.errors import MissingDependency
from healthgym.retrieval.postings import K1, B, Postings
from healthgym.retrieval.ranking import Ranking, top
from healthgym.retrieval.tokens import tokenize

__all__ = ["K1", "B", "LexicalBuilder", "LexicalIndex", "import_bm25s"]


class LexicalIndex:
    """Ranks passages by BM25. Queries and passages pass through the same tokenizer."""

    def __init__(self, bm25: Any) -> None:
        self._bm25 = bm25

    def search(self, query: str, depth: int, allowed: np.ndarray | None = None) -> Ranking:
        """Rank at most `depth` positions that share a word with the query; `allowed` is bool (n,) or None for all."""
        ids = self._bm25.get_tokens_ids(tokenize(query))
        if not ids:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        scores = self._bm25.get_scores_from_ids(ids)
        if allowed is not None:
            scores[~allowed] = 0
        return top(scores, depth)

    def save(self, folder: Path) -> None:
        """Write the index into a folder."""
        self._bm25.save(folder, show_progress=False)

    @classmethod
    def load(cls, folder: Path) -> "LexicalIndex":
        """Open a saved index, memory-mapped."""
        return cls(import_bm25s().BM25.load(folder, mmap=True, show_progress=False))


class LexicalBuilder:
    """Collects the words of passages while a corpus streams by; memory stays bounded (see Postings)."""

    def __init__(self) -> None:
        self.bm25s = import_bm25s()
        self._postings = Postings()

    def add(self, texts: Iterable[str]) -> None:
        """Take note of the next passages."""
        for text in texts:
            self._postings.add(tokenize(text))

    def build(self) -> LexicalIndex:
        """Return the index of all passages so far."""
        vocab = dict(self._postings.vocab) or {"health": 0}  # bm25s cannot hold an empty vocabulary
        scores = self._postings.scores()
        if len(scores["indptr"]) == 1:
            scores["indptr"] = np.zeros(2, np.int32)
        bm25 = self.bm25s.BM25(k1=K1, b=B, method="lucene")
        bm25.scores = {**scores, "num_docs": len(self._postings)}
        bm25.vocab_dict, bm25.unique_token_ids_set = vocab, set(vocab.values())
        bm25.nonoccurrence_array = None
        return LexicalIndex(bm25)


def import_bm25s() -> Any:
    """Return the bm25s module.

    Raises:
        MissingDependency: it is not installed.
    """
    try:
        import bm25s
        import bm25s.tokenization
    except ImportError as error:
        raise MissingDependency.extra("Lexical search", "kb") from error
    return bm25s
