"""Signs that text has fallen apart: repeated n-grams, runs of another script, runs of one character."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from healthgym.envs.parsing import parse_action

MIN_WORDS = 24
"""Shorter prose repeats itself by chance."""
MAX_REPETITION = 0.5
MAX_FOREIGN_SHARE = 0.3
MAX_RUN = 40
_WORD = re.compile(r"\w+|[^\w\s]")


def repetition(text: str, n: int = 4) -> float:
    """Return the share of word n-grams that already occurred earlier in the text, in [0, 1]."""
    words = _WORD.findall(text.lower())
    grams = [tuple(words[start : start + n]) for start in range(len(words) - n + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


def foreign_share(text: str) -> float:
    """Return the share of letters outside the Latin and Greek alphabets, in [0, 1]."""
    letters = [character for character in text if character.isalpha()]
    return sum(ord(character) > 0x3FF for character in letters) / len(letters) if letters else 0.0


def longest_run(text: str) -> int:
    """Return the length of the longest run of one character, white space aside."""
    return max((len(run[0]) for run in re.finditer(r"(\S)\1*", text)), default=0)


def is_degenerate(prose: str) -> bool:
    """Say whether prose repeats itself, slips into another script, or runs on one character."""
    repeats = len(_WORD.findall(prose)) >= MIN_WORDS and repetition(prose) > MAX_REPETITION
    foreign = sum(map(str.isalpha, prose)) >= MIN_WORDS and foreign_share(prose) > MAX_FOREIGN_SHARE
    return repeats or foreign or longest_run(prose) > MAX_RUN


def prose_of(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the agent's prose, turn by turn, tool calls left out: several calls in a turn look alike and are fine."""
    return [
        parse_action(str(message.get("raw") or message.get("content") or "")).content
        for message in messages
        if message.get("role") == "assistant"
    ]
