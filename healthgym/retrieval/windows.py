"""Runs of n words as 64-bit numbers, many texts at a time: what de-duplication and audits compare."""

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np

WORD = re.compile(r"[^\W_]+")
"""Letters and digits; any other sign separates words."""

KNOWN_WORDS = 500_000
"""Hashes of words kept at hand; beyond that the table starts anew, so that memory stays bounded."""

_BASE = np.uint64(0x9E3779B97F4A7C15)


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, case folded."""
    return WORD.findall(text.casefold())


class WordHasher:
    """Hashes texts word by word. The same word gets the same number in every process."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def __call__(self, words: Iterable[str]) -> list[int]:
        """Return 64 bits for each word."""
        if len(self._known) > KNOWN_WORDS:
            self._known.clear()
        known = self._known
        numbers = []
        for word in words:
            number = known.get(word)
            if number is None:
                number = known[word] = hash64(word)
            numbers.append(number)
        return numbers

    def flat(self, texts: Sequence[Sequence[str]], padding: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return the hashes of all texts in one uint64 array, each followed by `padding` zeros, and where each starts.

        Args:
            texts: Words of each text.
            padding: Zeros behind each text.

        Returns:
            uint64 (total,) and int64 (len(texts) + 1,): text i lies at [starts[i], starts[i + 1]).
        """
        numbers: list[int] = []
        starts = [0]
        for words in texts:
            numbers.extend(self(words))
            numbers.extend([0] * padding)
            starts.append(len(numbers))
        return np.array(numbers, dtype=np.uint64), np.array(starts, dtype=np.int64)


def hash64(text: str) -> int:
    """Return 64 bits that stand for a text, the same in every process."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def window_hashes(words: np.ndarray, length: int) -> np.ndarray:
    """Return the hash of every run of `length` neighbouring words.

    Args:
        words: uint64 (n,) hashes of words.
        length: Words in a run.

    Returns:
        uint64 (max(0, n - length + 1),).
    """
    count = max(0, len(words) - length + 1)
    total = np.zeros(count, dtype=np.uint64)
    for offset in range(length if count else 0):
        total = total * _BASE + words[offset : offset + count]
    return scrambled(total)


def scrambled(numbers: np.ndarray) -> np.ndarray:
    """Return numbers whose every bit depends on every bit of the given ones, uint64.

    Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, fig. 17 (mix64variant13).
    """
    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
