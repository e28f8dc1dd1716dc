"""Passages that repeat an earlier one: word for word, or so nearly that nothing of their own is lost.

Two passages with other titles are never duplicates: "It is inherited in an autosomal recessive pattern" says something
else under each disease. A near duplicate has the title, most of the words, the same numbers and the same negations as
the passage it repeats, and no content word that the other lacks. So another dose, another drug or a "not" keeps both.

Candidates come from MinHash signatures in bands. They are made by numpy here rather than by a library because only the
band keys are kept, 48 bytes a passage in a file: the tables of a MinHash library hold about a kilobyte a passage in
memory, and a build of a million passages should not.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from healthgym.errors import ConfigError
from healthgym.retrieval.passages import Passage
from healthgym.retrieval.tokens import STOP_WORDS
from healthgym.retrieval.windows import WordHasher, hash64, scrambled, window_hashes, words_of

MODES = ("near", "exact", "keep")
SHINGLE = 3
"""Words in a shingle."""

BANDS, ROWS = 12, 5
"""A pair of similarity s becomes a candidate with probability 1 - (1 - s^5)^12: 0.99 at 0.8, 0.32 at 0.5."""

LARGEST = np.uint64(2**64 - 1)

NEAR = 0.8
"""Shared shingles over all shingles of both from which passages are near duplicates."""

COMPARED = 8
"""A passage is compared with the first of its band and at most so many just before it."""

PAIRS_AT_A_TIME = 1 << 16
"""Pairs turned into numbers of Python at a time: there they take ten times the memory."""

SIGNATURE = np.dtype([("exact", "<u8"), ("bands", "<u4", (BANDS,))])
"""What is kept of a passage, 56 bytes."""

NEGATIONS = frozenset(
    ["no", "not", "nor", "never", "none", "neither", "without", "cannot", "except", "unless", "avoid"]
)
_HALF = np.uint64(32)
_NUMBER = re.compile(r"[<>≤≥±+\-−–]?\s?\d+(?:[.,]\d+)*%?")
_SPACE = re.compile(r"\s+")


class Signer:
    """Makes the signatures of passages."""

    def __init__(self, seed: int = 20_240_601) -> None:
        rng = np.random.default_rng(seed)
        self._factors = rng.integers(0, 2**63, BANDS * ROWS, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        self._hasher = WordHasher()

    def sign(self, passages: Sequence[Passage]) -> np.ndarray:
        """Return the signatures, SIGNATURE (n,)."""
        signatures = np.zeros(len(passages), dtype=SIGNATURE)
        if not len(passages):
            return signatures
        titles = [self._hasher([" ".join(words_of(passage.title))])[0] for passage in passages]
        texts = [words_of(passage.text) or ["-"] for passage in passages]
        words, starts = self._hasher.flat(texts, padding=SHINGLE - 1)
        shingles = window_hashes(np.append(words, np.zeros(SHINGLE - 1, np.uint64)), SHINGLE)
        padding = (starts[1:, None] - np.arange(1, SHINGLE)).ravel()  # runs that begin behind the last word of a text
        signatures["exact"] = [hash64(exact_text(passage)) for passage in passages]
        for band in range(BANDS):
            key = scrambled(np.array(titles, dtype=np.uint64) + np.uint64(band))
            for row in range(ROWS):
                hashes = shingles * self._factors[band * ROWS + row]
                hashes[padding] = LARGEST
                key = scrambled(key ^ np.minimum.reduceat(hashes, starts[:-1]))
            signatures["bands"][:, band] = (key >> np.uint64(32)).astype(np.uint32)
        return signatures


def find_duplicates(
    signatures: np.ndarray, passage_at: Callable[[int], Passage], mode: str = "near"
) -> dict[int, tuple[int, str]]:
    """Return, for each passage that repeats an earlier one, the position of that one and 'exact' or 'near'.

    Args:
        signatures: SIGNATURE (n,), in the order of the passages.
        passage_at: Reads a passage by position; called for candidates alone.
        mode: 'near' (both kinds), 'exact' or 'keep' (none).
    """
    if mode not in MODES:
        raise ConfigError(f"duplicates must be one of {', '.join(MODES)}, got {mode!r}")
    repeats: dict[int, tuple[int, str]] = {}
    if mode == "keep":
        return repeats
    pairs = np.sort(_pairs(signatures["exact"]))
    _drop(repeats, pairs, "exact", lambda one, two: exact_text(one) == exact_text(two), passage_at)
    if mode == "near":
        pairs = np.zeros(0, np.uint64)
        for band in range(
            BANDS
        ):  # they find the same pairs again: joined one by one, these never lie in memory together
            pairs = np.union1d(pairs, _pairs(signatures["bands"][:, band]))
        _drop(repeats, pairs, "near", is_near_duplicate, passage_at)
    return repeats


def _pairs(keys: np.ndarray) -> np.ndarray:
    """Return pairs of positions with equal keys: each with the first one and those just before it.

    A pair is one uint64, the later position in its upper half and the earlier one in its lower.
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(keys) else np.zeros(0, np.int64)
    start = np.repeat(first, np.diff(np.r_[first, len(keys)]))  # where the run of each entry begins
    place, order = np.arange(len(keys)), order.astype(np.uint64)
    pairs = []
    for back in range(1, COMPARED + 1):
        here = np.flatnonzero(place - back >= start)
        pairs.append(order[here] << _HALF | order[here - back])
    far = np.flatnonzero(place - COMPARED > start)
    pairs.append(order[far] << _HALF | order[start[far]])
    return np.concatenate(pairs)


def _drop(
    repeats: dict[int, tuple[int, str]],
    pairs: np.ndarray,
    kind: str,
    same: Callable[[Passage, Passage], bool],
    passage_at: Callable[[int], Passage],
) -> None:
    """Note the later of each pair that is the same as the earlier one; pairs come in ascending order."""
    for begin in range(0, len(pairs), PAIRS_AT_A_TIME):
        for pair in pairs[begin : begin + PAIRS_AT_A_TIME].tolist():
            later, earlier = pair >> 32, pair & 0xFFFFFFFF
            if later in repeats:
                continue
            earlier = repeats[earlier][0] if earlier in repeats else earlier
            if earlier < later and same(passage_at(earlier), passage_at(later)):
                repeats[later] = (earlier, kind)


def exact_text(passage: Passage) -> str:
    """Return title and text with case folded and every space alike. Signs stay: K < 3.5 is not K > 3.5."""
    return _SPACE.sub(" ", f"{passage.title}\n{passage.text}").strip().casefold()


def is_near_duplicate(kept: Passage, other: Passage) -> bool:
    """Return whether `other` says nothing that `kept` does not say; see the head of this module."""
    if words_of(kept.title) != words_of(other.title):
        return False
    kept_words, other_words = words_of(kept.text), words_of(other.text)
    if not set(other_words) - set(kept_words) <= STOP_WORDS - NEGATIONS:
        return False
    if _NUMBER.findall(kept.text) != _NUMBER.findall(other.text) or _negations(kept_words) != _negations(other_words):
        return False
    return similarity(kept_words, other_words) >= NEAR


def similarity(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the shared shingles over all shingles of two texts, 0 to 1 (Jaccard)."""
    left, right = _shingles(one), _shingles(other)
    return len(left & right) / len(left | right) if left | right else 1.0


def _shingles(words: Sequence[str]) -> set[tuple[str, ...]]:
    padded = [*words, *[""] * (SHINGLE - 1)]
    return {tuple(padded[start : start + SHINGLE]) for start in range(len(words))}


def _negations(words: Sequence[str]) -> Counter[str]:
    return Counter(word for word in words if word in NEGATIONS or word.endswith("n't"))
