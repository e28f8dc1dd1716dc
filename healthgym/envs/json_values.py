"""JSON as language models write it: read gently, but never into values that would break what comes later."""

import json
from typing import Any

MAX_DEPTH = 24
"""Deepest nesting of a call."""
MAX_NUMBER = 10**18
"""Largest number, so that it fits every consumer's integers."""


class Unreadable(ValueError):
    """A value that cannot be taken; the message says why in the agent's words."""


def read_json(text: str) -> Any:
    """Return the one JSON value of a text. Raises Unreadable."""
    values, end = read_objects(text, 0, most=1)
    if end < len(text):
        raise Unreadable(f"after its JSON comes {text[end : end + 20]!r}.")
    return values[0]


def read_objects(text: str, start: int, *, most: int | None = None) -> tuple[list[Any], int]:
    """Return the JSON values that stand one after the other from `start` on, lists of objects laid open, and their end.

    Values may be separated by commas, semicolons and white space; line breaks inside strings are allowed.

    Args:
        text: Holds the values.
        start: Where the first begins, after white space.
        most: Stop after so many values, taking lists as they are; None reads while objects or lists follow.

    Raises:
        Unreadable: The first value, or one that follows, is no JSON, is nested too deeply, or holds a number that is none.
    """
    values: list[Any] = []
    begin = position = _skip(text, start, " \t\r\n")
    while most is None or len(values) < most:
        if values and (position >= len(text) or text[position] not in "{["):
            break
        try:
            value, position = _DECODER.raw_decode(text, position)
        except json.JSONDecodeError as error:
            raise Unreadable(f"not valid JSON at character {error.pos - begin} ({error.msg}).") from None
        except RecursionError:
            raise Unreadable("the JSON is nested too deeply.") from None
        except Unreadable:
            raise
        except ValueError:  # Python refuses to read a whole number of thousands of digits
            raise Unreadable("a number is too large.") from None
        check_value(value)
        opened = most is None and isinstance(value, list) and bool(value)
        values.extend(value if opened else [value])
        position = _skip(text, position, " \t\r\n,;" if most is None else " \t\r\n")
    return values, position


def cleaned(value: Any) -> Any:
    """Return a decoded value with halves of surrogate pairs replaced, which could be neither stored nor sent."""
    if isinstance(value, str):
        if value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value):
            return value
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {cleaned(key): cleaned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    return value


def check_value(value: Any, depth: int = MAX_DEPTH) -> None:
    """Raise Unreadable for a decoded value that is nested too deeply or holds a number nothing can use."""
    if depth < 0:
        raise Unreadable("the JSON is nested too deeply.")
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            check_value(item, depth - 1)
    elif isinstance(value, int | float) and not -MAX_NUMBER <= value <= MAX_NUMBER:  # false for what is no number, too
        raise Unreadable("a number is too large.")


def _refuse(name: str) -> Any:
    raise Unreadable(f"{name} is no JSON number.")


def _skip(text: str, position: int, letters: str) -> int:
    while position < len(text) and text[position] in letters:
        position += 1
    return position


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)
