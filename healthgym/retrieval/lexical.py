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

DATA, INDICES = "data.csc.index.npy", "indices.csc.index.npy"
"""Files of bm25s that hold the scores of all words, one word after the other, and the passages they are of."""


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
    """Collects the words of passages while a corpus streams by; memory stays bounded (see Postings).

    Args:
        folder: Where temporary files go; the system's place for them when None.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.bm25s = import_bm25s()
        self._postings = Postings(folder)

    def add(self, texts: Iterable[str]) -> None:
        """Take note of the next passages."""
        for text in texts:
            self._postings.add(tokenize(text))

    def build(self) -> LexicalIndex:
        """Return the index of all passages so far, in memory."""
        data, indices = (np.zeros(self._postings.count, kind) for kind in (np.float32, np.int32))
        done = 0
        for scores, passages in self._postings.scores():
            data[done : done + len(scores)], indices[done : done + len(scores)] = scores, passages
            done += len(scores)
        return LexicalIndex(self._bm25(data, indices, dict(self._postings.vocab)))

    def save(self, folder: Path) -> None:
        """Write the index of all passages so far into a folder, a few words at a time."""
        none_yet = np.zeros(0, np.float32), np.zeros(0, np.int32)
        self._bm25(*none_yet, self._postings.vocab).save(folder, show_progress=False)
        with (folder / DATA).open("wb") as data, (folder / INDICES).open("wb") as indices:
            for stream, kind in ((data, "<f4"), (indices, "<i4")):
                header = {"descr": kind, "fortran_order": False, "shape": (self._postings.count,)}
                np.lib.format.write_array_header_1_0(stream, header)
            for scores, passages in self._postings.scores():
                data.write(scores.tobytes())
                indices.write(passages.tobytes())

    def _bm25(self, data: np.ndarray, indices: np.ndarray, vocab: dict[str, int]) -> Any:
        vocab = vocab or {"health": 0}  # bm25s cannot hold an empty vocabulary
        starts = self._postings.starts()
        if len(starts) == 1:
            starts = np.zeros(2, np.int32)
        bm25 = self.bm25s.BM25(k1=K1, b=B, method="lucene")
        bm25.scores = {"data": data, "indices": indices, "indptr": starts, "num_docs": len(self._postings)}
        bm25.vocab_dict, bm25.unique_token_ids_set = vocab, set(vocab.values())
        bm25.nonoccurrence_array = None
        return bm25


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
