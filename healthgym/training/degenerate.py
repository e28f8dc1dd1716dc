"""Recognises text that has fallen apart, so that it cannot bend a group's baseline. One rule for every task."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from healthgym.envs.parsing import parse_action

MIN_WORDS = 24
"""Shorter prose is not judged for repetition."""
MAX_REPETITION = 0.5
MAX_FOREIGN = 0.3
MAX_RUN = 40
_WORD = re.compile(r"\w+|[^\w\s]")


def repetition(text: str, n: int = 4) -> float:
    """Return the share of word n-grams that already occurred earlier in the text, in [0, 1]."""
    words = _WORD.findall(text.lower())
    grams = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


def foreign_share(text: str) -> float:
    """Return the share of letters outside the Latin and Greek alphabets, in [0, 1]."""
    letters = [char for char in text if char.isalpha()]
    return sum(ord(char) > 0x3FF for char in letters) / len(letters) if letters else 0.0


def longest_run(text: str) -> int:
    """Return the length of the longest run of one character, spaces aside."""
    return max((len(match[0]) for match in re.finditer(r"(\S)\1*", text)), default=0)


def is_degenerate(text: str) -> bool:
    """Say whether one assistant turn has fallen apart: repeats itself, runs into another script or one character.

    Only prose is judged: several well-formed tool calls in a turn look alike and are no degeneration.
    """
    prose = parse_action(text).content
    repeats = len(_WORD.findall(prose)) >= MIN_WORDS and repetition(prose) > MAX_REPETITION
    foreign = sum(map(str.isalpha, prose)) >= MIN_WORDS and foreign_share(prose) > MAX_FOREIGN
    return repeats or foreign or longest_run(prose) > MAX_RUN


def assistant_texts(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what the agent wrote, turn by turn, as it wrote it."""
    return [str(m.get("raw") or m.get("content") or "") for m in messages if m["role"] == "assistant"]
