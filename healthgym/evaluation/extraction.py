"""The answer that free text gives to a question of multiple choice."""

from collections.abc import Mapping


def extract(text: str, options: Mapping[str, str]) -> tuple[str | None, str]:
    return None, "unread"
