"""BM25 over the words of titles, sections and texts, by bm25s."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from healthgym.errors import MissingDependency
from healthgym.retrieval.ranking import Ranking, top
from healthgym.retrieval.tokens import tokenize

K1, B = 1.5, 0.75
"""BM25: how soon repeated words stop counting, how far long passages are held back."""


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
    """Collects the words of passages as 4-byte numbers, so that a large corpus stays small while it streams by."""

    def __init__(self) -> None:
        self.bm25s = import_bm25s()
        self.vocab: dict[str, int] = {}
        self._words = array("i")
        self._ends = array("q", [0])

    def add(self, texts: Iterable[str]) -> None:
        """Take note of the next passages."""
        for text in texts:
            self._words.extend(self.vocab.setdefault(word, len(self.vocab)) for word in tokenize(text))
            self._ends.append(len(self._words))

    def build(self) -> LexicalIndex:
        """Return the index of all passages so far."""
        if not self.vocab:
            self.vocab["health"] = 0  # bm25s cannot hold an empty vocabulary; no passage has the word
        bm25 = self.bm25s.BM25(k1=K1, b=B, method="lucene")
        rows = _Rows(np.asarray(self._words), np.asarray(self._ends))
        bm25.index(self.bm25s.tokenization.Tokenized(ids=rows, vocab=self.vocab), show_progress=False)
        return LexicalIndex(bm25)


class _Rows(Sequence[list[int]]):
    """The words of each passage, cut on demand from one flat array."""

    def __init__(self, words: np.ndarray, ends: np.ndarray) -> None:
        self._words, self._ends = words, ends

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, row: Any) -> Any:
        if row >= len(self):
            raise IndexError(row)
        return self._words[self._ends[row] : self._ends[row + 1]].tolist()

    def __iter__(self) -> Iterator[list[int]]:
        return (self[row] for row in range(len(self)))


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
