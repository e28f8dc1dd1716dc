"""The postings of a lexical index, gathered in bounded memory: which passages have a word, and how much each counts."""

import tempfile
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import IO

import numpy as np

K1, B = 0.9, 0.4
"""BM25: how soon repeated words stop counting, how far long passages are held back; chosen in
docs/knowledge-base-measurements.md."""

IN_MEMORY = 1 << 26
"""Bytes that stay in memory before postings and scores go to temporary files."""

BLOCK = 1 << 21
"""Postings sorted at a time."""

POSTING = np.dtype([("passage", np.int32), ("word", np.int32), ("count", np.int32)])


class Postings:
    """Takes the words of passages one passage after the other, then gives BM25 scores by word.

    In memory stay the vocabulary, two numbers a word and one number a passage; the postings, 12 bytes each, stream to a
    temporary file, and so do the scores when they are large.
    """

    def __init__(self) -> None:
        self.vocab: dict[str, int] = {}
        self._lengths = array("i")
        self._frequencies = array("i")
        self._stream: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - lives with self
        self._pending: list[tuple[int, int, int]] = []

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
            self._pending.append((passage, number, count))
            total += count
        self._lengths.append(total)
        if len(self._pending) > BLOCK // 16:
            self._write()

    def scores(self) -> dict[str, np.ndarray]:
        """Return what bm25s keeps: scores and passages of each word in turn, and where each word's begin.

        data float32 (p,), indices int32 (p,) ascending within a word, indptr (words + 1,).

        Source: BM25 as Lucene has it, after Kamphuis et al., "Which BM25 do you mean?", ECIR 2020, table 1, row Lucene
        (accurate).
        """
        self._write()
        frequencies = np.asarray(self._frequencies, dtype=np.int64)
        ends = np.concatenate([[0], np.cumsum(frequencies)])
        rarity = np.log1p((len(self) - frequencies + 0.5) / (frequencies + 0.5))
        lengths = np.asarray(self._lengths, dtype=np.float64)
        norms = K1 * (1 - B + B * lengths / max(lengths.mean(), 1.0)) if len(self) else lengths
        data, indices = _array(ends[-1], np.float32), _array(ends[-1], np.int32)
        place = ends[:-1].copy()
        for block in self._blocks():
            block = block[np.argsort(block["word"], kind="stable")]
            words, first, counts = np.unique(block["word"], return_index=True, return_counts=True)
            target = np.repeat(place[words] - first, counts) + np.arange(len(block))
            place[words] += counts
            repeats = block["count"].astype(np.float64)
            data[target] = rarity[block["word"]] * repeats / (repeats + norms[block["passage"]])
            indices[target] = block["passage"]
        kind = np.int32 if ends[-1] < np.iinfo(np.int32).max else np.int64
        return {"data": data, "indices": indices, "indptr": ends.astype(kind)}

    def _write(self) -> None:
        self._stream.write(np.array(self._pending, dtype=POSTING).tobytes())
        self._pending.clear()

    def _blocks(self) -> Iterator[np.ndarray]:
        self._stream.seek(0)
        while raw := self._stream.read(BLOCK * POSTING.itemsize):
            yield np.frombuffer(raw, dtype=POSTING)


def _array(size: int, kind: type) -> np.ndarray:
    """Return an array of zeros, in a temporary file when it is large."""
    if size * np.dtype(kind).itemsize <= IN_MEMORY:
        return np.zeros(size, kind)
    with tempfile.TemporaryFile() as stream:
        return np.memmap(stream, dtype=kind, mode="w+", shape=(int(size),))
