"""The space of messages: any text, or blocks of text and images."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

_SAMPLE_WORDS = ("check", "vital signs", "please", "history", "{}", "<tool_call>", "42")


class MessageSpace(spaces.Space[Any]):
    """Text, a chat message, or a list of content blocks."""

    def __init__(self, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(shape=None, dtype=None, seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Return a short random text."""
        words = self.np_random.choice(_SAMPLE_WORDS, size=int(self.np_random.integers(1, 5)))
        return " ".join(map(str, words))

    def contains(self, x: Any) -> bool:
        """Say whether `x` is text, a message with content, or a list of blocks."""
        if isinstance(x, Mapping):
            return "content" in x
        if isinstance(x, list):
            return all(isinstance(block, Mapping) and "type" in block for block in x)
        return isinstance(x, str)

    @property
    def is_np_flattenable(self) -> bool:
        """Messages have no fixed size."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MessageSpace)

    def __repr__(self) -> str:
        return "MessageSpace()"
