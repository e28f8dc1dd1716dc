"""The postings of a lexical index, gathered in bounded memory: which passages have a word, and how much each counts."""

import tempfile
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np

K1, B = 0.9, 0.4
"""BM25: how soon repeated words stop counting, how far long passages are held back; chosen in
docs/knowledge-base-measurements.md."""

IN_MEMORY = 1 << 24
"""Bytes of postings that stay in memory before they go to a temporary file."""

BLOCK = 1 << 19
"""Postings sorted at a time."""

POSTING = np.dtype([("passage", np.int32), ("word", np.int32), ("count", np.int32)])


class Postings:
    """Takes the words of passages one passage after the other, then gives BM25 scores by word.

    In memory stay the vocabulary, two numbers a word and one number a passage; the postings, 12 bytes each, stream to a
    temporary file, which is then brought into the order of words by a second one.

    Args:
        folder: Where temporary files go; the system's place for them when None, which may lie in memory.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.vocab: dict[str, int] = {}
        self._folder = None if folder is None else str(folder)
        self._lengths = array("i")
        self._frequencies = array("i")
        self._stream: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY, dir=self._folder)  # noqa: SIM115 - lives with self
        self._pending = array("i")

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, words: Iterable[str]) -> None:
        """Take the words of the next passage."""
        counts = Counter(words)
        passage, total = len(self._lengths), 0
        for word, count in counts.items():
            number = self.vocab.setdefault(word, len(self.vocab))
            if number == len(self._frequencies):
                self._frequencies.append(0)
            self._frequencies[number] += 1
            self._pending.extend((passage, number, count))
            total += count
        self._lengths.append(total)
        if len(self._pending) > BLOCK // 4:
            self._write()

    @property
    def count(self) -> int:
        """Postings so far: pairs of a passage and a word in it."""
        return sum(self._frequencies)

    def starts(self) -> np.ndarray:
        """Return where the postings of each word begin in what scores() yields, and their end, (words + 1,)."""
        ends = np.concatenate([[0], np.cumsum(np.asarray(self._frequencies, dtype=np.int64))])
        return ends.astype(np.int32 if ends[-1] < np.iinfo(np.int32).max else np.int64)

    def scores(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield scores float32 and passages int32 word by word, passages of a word ascending, some words at a time.

        Source: BM25 as Lucene has it, after Kamphuis et al., "Which BM25 do you mean?", ECIR 2020, table 1, row Lucene
        (accurate).
        """
        frequencies = np.asarray(self._frequencies, dtype=np.int64)
        rarity = np.log1p((len(self) - frequencies + 0.5) / (frequencies + 0.5))
        lengths = np.asarray(self._lengths, dtype=np.float64)
        norms = K1 * (1 - B + B * lengths / max(lengths.mean(), 1.0)) if len(self) else lengths
        for block in self._by_word():
            repeats = block["count"].astype(np.float64)
            scores = rarity[block["word"]] * repeats / (repeats + norms[block["passage"]])
            yield scores.astype(np.float32), np.ascontiguousarray(block["passage"])

    def _by_word(self) -> Iterator[np.ndarray]:
        """Yield the postings in the order of words, and of passages for each, all of a word in one block."""
        self._write()
        starts = self.starts().astype(np.int64)
        bounds = _bounds(starts, BLOCK)
        with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY, dir=self._folder) as sorted_roughly:
            free = starts[bounds[:-1]].copy()  # where the next posting of each range of words goes
            for block in _blocks(self._stream, BLOCK):
                ordered = block[np.argsort(block["word"], kind="stable")]
                cuts = np.searchsorted(ordered["word"], bounds)
                for number, (start, stop) in enumerate(pairwise(cuts.tolist())):
                    if stop > start:
                        sorted_roughly.seek(int(free[number]) * POSTING.itemsize)
                        sorted_roughly.write(ordered[start:stop].tobytes())
                        free[number] += stop - start
            for first, last in pairwise(bounds.tolist()):
                sorted_roughly.seek(int(starts[first]) * POSTING.itemsize)
                size = int(starts[last] - starts[first]) * POSTING.itemsize
                block = np.frombuffer(sorted_roughly.read(size), dtype=POSTING)
                yield block[np.argsort(block["word"], kind="stable")]

    def _write(self) -> None:
        self._stream.seek(0, 2)
        self._stream.write(self._pending.tobytes())
        self._pending = array("i")


def _bounds(starts: np.ndarray, most: int) -> np.ndarray:
    """Return numbers of words that part them into ranges of at most `most` postings; a more frequent word stands alone."""
    bounds = [0]
    while bounds[-1] < len(starts) - 1:
        last = int(np.searchsorted(starts, starts[bounds[-1]] + most, side="right")) - 1
        bounds.append(max(last, bounds[-1] + 1))
    return np.array(bounds, dtype=np.int64)


def _blocks(stream: IO[bytes], size: int) -> Iterator[np.ndarray]:
    stream.seek(0)
    while raw := stream.read(size * POSTING.itemsize):
        yield np.frombuffer(raw, dtype=POSTING)
