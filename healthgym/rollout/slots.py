"""Which episode owns which slot of the cache, and which tokens each slot has seen."""

from collections.abc import Container, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")
MIN_SHARED = 32
"""Shortest common prefix worth waiting a pass for."""


class Slots:
    """Book-keeping of `count` slots. A freed slot keeps its tokens until it is taken, so others can copy them.

    Args:
        count: Number of slots.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.ids = np.zeros((count, 0), np.int32)
        """(count, capacity): tokens seen."""
        self.length = np.zeros(count, np.int64)
        """Tokens seen by each slot."""
        self.open: dict[int, int] = {}
        """Slot by episode key, least recently used first."""
        self._free = list(range(count))[::-1]

    def reserve(self, capacity: int) -> None:
        """Make room for this many tokens a slot."""
        if capacity > self.ids.shape[1]:
            wider = np.zeros((self.count, capacity), np.int32)
            wider[:, : self.ids.shape[1]] = self.ids
            self.ids = wider

    def acquire(self, key: int, busy: Container[int]) -> int | None:
        """Return the episode's own slot, a free one, or that of the idlest episode without a turn being written."""
        slot = self.open.pop(key, None)
        if slot is None and self._free:
            slot = self._free.pop()
        if slot is None:
            idle = next((other for other, taken in self.open.items() if taken not in busy), None)
            if idle is None:
                return None
            slot = self.open.pop(idle)
        self.open[key] = slot
        return slot

    def release(self, key: int) -> int | None:
        """Free an episode's slot and return it, or None when it had none. The lowest free slot is taken next."""
        slot = self.open.pop(key, None)
        if slot is not None:
            self._free.append(slot)
            self._free.sort(reverse=True)
        return slot

    def keep_common(self, slot: int, prompt: np.ndarray) -> None:
        """Forget what a slot has seen beyond its common prefix with `prompt`, of which one token stays to be run."""
        self.length[slot] = min(_common(self.ids[slot, : self.length[slot]], prompt), len(prompt) - 1)

    def write(self, slot: int, start: int, tokens: np.ndarray) -> None:
        """Record that a slot has now seen `tokens` from position `start` on."""
        self.ids[slot, start : start + len(tokens)] = tokens
        self.length[slot] = start + len(tokens)

    def longest_prefix(self, prompt: np.ndarray) -> tuple[int, int]:
        """Return the slot that shares the longest prefix with `prompt`, and its length, short of the whole prompt."""
        width = min(len(prompt) - 1, self.ids.shape[1])
        differs = self.ids[:, :width] != prompt[:width]
        same = np.where(differs.any(1), differs.argmax(1), width) if width else np.zeros(self.count, np.int64)
        same = np.minimum(same, self.length)
        best = int(same.argmax())
        return best, int(same[best])

    def first_round(self, prompts: Sequence[np.ndarray], items: Sequence[T]) -> tuple[list[T], list[T]]:
        """Split newcomers into those to run now and those that gain by copying from one of these afterwards."""
        now: list[T] = []
        leaders: list[np.ndarray] = []
        later: list[T] = []
        for prompt, item in zip(prompts, items, strict=True):
            known = max(self.longest_prefix(prompt)[1], MIN_SHARED)
            if any(min(_common(leader, prompt), len(prompt) - 1) >= known + MIN_SHARED for leader in leaders):
                later.append(item)
            else:
                now.append(item)
                leaders.append(prompt)
        return now, later


def _common(one: np.ndarray, other: np.ndarray) -> int:
    width = min(len(one), len(other))
    differs = one[:width] != other[:width]
    return int(differs.argmax()) if differs.any() else width
