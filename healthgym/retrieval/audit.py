"""Audits: which passages repeat words of an evaluation set, or say the same, and so must not serve its questions."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from healthgym.errors import ConfigError, ContentError
from healthgym.retrieval.evaluation_texts import EvaluationText, read_evaluation_texts
from healthgym.retrieval.manifest import file_checksum
from healthgym.retrieval.passages import Passage
from healthgym.retrieval.retriever import MAX_K, MAX_QUERY_CHARACTERS, Hit, Retriever
from healthgym.retrieval.store import PassageStore
from healthgym.retrieval.windows import WordHasher, window_hashes, words_of

WORDS = 13
"""Neighbouring words in common that count as an overlap. Source: Brown et al., "Language models are few-shot learners",
2020, appendix C."""

SHORTEST = 8
"""A question of fewer than 13 words but at least so many is looked for as a whole."""

SIMILARITY = 0.95
"""Cosine from which a passage is said to say the same as a text of the evaluation set."""

NEAREST = 3
"""Passages compared with each text of the evaluation set by their vectors; up to 100 where all of these are close."""

BATCH = 2048
QUERIES = 256

Progress = Callable[[str, int, int], None]
"""Called with 'words' or 'vectors', what is done and how many there are."""


@dataclass(frozen=True, kw_only=True)
class WordOverlap:
    """A passage and an evaluation text that share a run of words."""

    passage: str
    source: str
    item: str
    file: str
    part: str
    words: int
    """Length of the longest shared run."""

    share: float
    """Share of the text's runs that stand in the passage, 0 to 1."""

    text: str
    """The longest shared run, case folded and without punctuation."""


@dataclass(frozen=True, kw_only=True)
class VectorOverlap:
    """A passage whose vector is close to that of an evaluation text."""

    passage: str
    source: str
    item: str
    file: str
    part: str
    similarity: float
    text: str
    """The start of the passage."""


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What an audit found, and how it was made."""

    passages: int
    items: int
    texts: int
    files: dict[str, str]
    """Checksum of each evaluation file by name."""

    words: int
    similarity: float | None
    encoder: str
    word_overlaps: list[WordOverlap]
    vector_overlaps: list[VectorOverlap]
    nearest: dict[str, float]
    """Quantiles of the similarity of each text to its nearest passage; empty without vectors."""

    @property
    def excluded(self) -> list[str]:
        """Ids of all passages found, in order."""
        return sorted({each.passage for each in self.word_overlaps} | {each.passage for each in self.vector_overlaps})

    def as_dict(self) -> dict[str, Any]:
        """Return the audit as JSON values."""
        return {**asdict(self), "excluded": self.excluded}


def audit(
    retriever: Retriever,
    against: Sequence[Path | str],
    *,
    words: int = WORDS,
    similarity: float | None = SIMILARITY,
    progress: Progress | None = None,
) -> Audit:
    """Compare the passages of an index with evaluation sets.

    Runs of words of the evaluation sets are hashed, passages stream by: time grows with the words of both, and memory
    with those of the evaluation sets alone.

    Args:
        retriever: Opened index.
        against: Files of evaluation items; see read_evaluation_texts.
        words: Neighbouring words in common that count as an overlap.
        similarity: Cosine from which passages count as the same; None leaves vectors out.
        progress: See Progress.

    Raises:
        ContentError: no or broken evaluation files.
        ConfigError: words or similarity out of range.
    """
    if words < SHORTEST:
        raise ConfigError(f"words must be at least {SHORTEST}: shorter runs are common speech, got {words}")
    if similarity is not None and not 0 < similarity <= 1:
        raise ConfigError(f"similarity must lie in (0, 1], got {similarity}")
    texts = list(read_evaluation_texts(against))
    if not texts:
        raise ContentError("the evaluation files hold no item; give JSON lines with a question to --against")
    report = progress or (lambda what, done, total: None)
    store = retriever.store
    found = [] if similarity is None else list(_vector_overlaps(retriever, texts, similarity, report))
    nearest = np.array([hits[0].similarity if hits else 0.0 for hits in found])
    return Audit(
        passages=len(store), items=len({(text.file, text.item) for text in texts}), texts=len(texts),
        files={Path(path).name: file_checksum(Path(path)) for path in against}, words=words, similarity=similarity,
        encoder=retriever.encoder.name, word_overlaps=word_overlaps(store, texts, words, report),
        vector_overlaps=[hit for hits in found for hit in hits if similarity and hit.similarity >= similarity],
        nearest={f"p{q}": round(float(np.percentile(nearest, q)), 4) for q in (50, 95, 99, 100)} if found else {},
    )  # fmt: skip


def word_overlaps(
    store: PassageStore, texts: Sequence[EvaluationText], words: int, progress: Progress
) -> list[WordOverlap]:
    """Return the pairs of passages and texts that share a run of words, the longest runs first."""
    runs = _Runs(texts, words)
    found: list[WordOverlap] = []
    passages = (store[position] for position in range(len(store)))
    done = 0
    while batch := list(islice(passages, BATCH)):
        found += runs.overlaps(batch)
        done += len(batch)
        progress("words", done, len(store))
    return sorted(found, key=lambda each: (-each.words, -each.share, each.passage, each.item))


class _Runs:
    """The runs of words of an evaluation set, by their hashes."""

    def __init__(self, texts: Sequence[EvaluationText], words: int) -> None:
        self.texts, self.hasher = texts, WordHasher()
        keys: dict[int, list[np.ndarray]] = defaultdict(list)
        owners: dict[int, list[np.ndarray]] = defaultdict(list)
        self.counts = np.ones(len(texts), dtype=np.int64)
        for number, text in enumerate(texts):
            tokens = words_of(text.text)
            length = words if len(tokens) >= words else len(tokens)
            if length < words and (text.part != "question" or length < SHORTEST):
                continue
            hashes = np.unique(window_hashes(np.array(self.hasher(tokens), dtype=np.uint64), length))
            self.counts[number] = len(hashes)
            keys[length].append(hashes)
            owners[length].append(np.full(len(hashes), number))
        self.tables = {}
        for length in sorted(keys):
            joined = np.concatenate(keys[length])
            order = np.argsort(joined, kind="stable")
            self.tables[length] = (joined[order], np.concatenate(owners[length])[order])

    def overlaps(self, passages: Sequence[Passage]) -> Iterator[WordOverlap]:
        """Yield the overlaps of some passages."""
        tokens = [words_of(passage.full_text) for passage in passages]
        flat, starts = self.hasher.flat(tokens)
        belongs = np.repeat(np.arange(len(tokens)), np.diff(starts))
        for length, (keys, owners) in self.tables.items():
            hashes = window_hashes(flat, length)
            first = np.searchsorted(keys, hashes)
            hit = keys[np.minimum(first, len(keys) - 1)] == hashes
            hit &= belongs[: len(hashes)] == belongs[length - 1 :][: len(hashes)]
            places: dict[tuple[int, int], list[int]] = defaultdict(list)
            for place in np.flatnonzero(hit).tolist():
                last = np.searchsorted(keys, hashes[place], side="right")
                for owner in owners[first[place] : last].tolist():
                    places[int(belongs[place]), owner].append(place - int(starts[belongs[place]]))
            for (row, owner), found in places.items():
                yield self._overlap(
                    passages[row], tokens[row], self.texts[owner], found, length, int(self.counts[owner])
                )

    @staticmethod
    def _overlap(
        passage: Passage, tokens: list[str], text: EvaluationText, places: list[int], length: int, count: int
    ) -> WordOverlap:
        """Describe an overlap from the places in the passage where shared runs begin."""
        best = longest = current = 0
        for number, place in enumerate(places):
            current = current + 1 if number and place == places[number - 1] + 1 else 1
            if current > longest:
                longest, best = current, place - current + 1
        shared = {tuple(tokens[place : place + length]) for place in places}
        run = tokens[best : best + longest + length - 1]
        return WordOverlap(
            passage=passage.id, source=passage.source, item=text.item, file=text.file, part=text.part, words=len(run),
            share=round(len(shared) / count, 4), text=" ".join(run),
        )  # fmt: skip


def _vector_overlaps(
    retriever: Retriever, texts: Sequence[EvaluationText], similarity: float, progress: Progress
) -> Iterator[list[VectorOverlap]]:
    """Yield the nearest passages of each question and context, nearest first: at least all that are close, up to 100."""
    asked = [text for text in texts if text.part != "options"]
    for start in range(0, len(asked), QUERIES):
        batch = asked[start : start + QUERIES]
        queries = [text.text.strip()[:MAX_QUERY_CHARACTERS] for text in batch]
        for text, query, nearest in zip(
            batch, queries, retriever.search_many(queries, NEAREST, mode="dense"), strict=True
        ):
            more = len(nearest) == NEAREST and _is_close(nearest[-1], similarity)
            hits = retriever.search(query, MAX_K, mode="dense") if more else nearest
            yield [
                VectorOverlap(
                    passage=hit.id, source=hit.passage.source, item=text.item, file=text.file, part=text.part,
                    similarity=round(hit.score, 4), text=hit.passage.text[:200],
                )
                for hit in hits
            ]  # fmt: skip
        progress("vectors", min(start + QUERIES, len(asked)), len(asked))


def _is_close(hit: Hit, similarity: float) -> bool:
    return round(hit.score, 4) >= similarity
