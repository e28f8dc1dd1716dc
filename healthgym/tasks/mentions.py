"""What a note says: required content is looked for phrase by phrase, and a denied phrase is not said."""

import re
from collections.abc import Sequence

Wanted = str | Sequence[str]
"""A phrase, or several of which any one will do."""

_SPACE = re.compile(r"[\s_]+")
_UNIT_SPACE = re.compile(r"(?<=\d) (?=[a-z%])")
_CLAUSE_END = re.compile(r"[;:,]|\.(?!\d)|\b(?:but|however|although|except|and then)\b")
_DENIED = re.compile(r"\b(?:no|not|nor|neither|never|without|denies|denied|negative for|absence of|free of)\b|n't\b")
_DENIED_AFTER = re.compile(
    r"\W{0,3}(?:(?:is|was|are|were|has been) )?(?:none|not|denied|absent|ruled out|excluded|negative)\b"
)


def says(text: str, wanted: Wanted) -> bool:
    """Say whether `text` states a phrase, or one of several.

    Case, white space, underscores and the space before a unit make no difference; words and numbers count whole, so
    "12 mm" is not in "112 mm" or "12 mm2". A phrase denied in its own clause ("no rash", "rash: none") is not stated,
    unless the phrase itself is a denial ("no rash").
    """
    plain = _plain(text)
    return any(_is_stated(plain, _plain(phrase)) for phrase in ([wanted] if isinstance(wanted, str) else wanted))


def share_said(text: str, wanted: Sequence[Wanted], unwanted: Sequence[Wanted] = ()) -> float:
    """Return the share of `wanted` that is stated, less one share for each of `unwanted` that is; not under 0."""
    said = sum(says(text, item) for item in wanted) - sum(says(text, item) for item in unwanted)
    return max(0.0, said / len(wanted))


def count_words(text: str) -> int:
    """Return the number of words of a text."""
    return len(text.split())


def _is_stated(text: str, phrase: str) -> bool:
    is_denial = _DENIED.search(phrase) is not None
    for found in re.finditer(rf"(?<!\w)(?<!\d\.){re.escape(phrase)}(?!\w)(?!\.\d)", text):
        before = _CLAUSE_END.split(text[: found.start()])[-1]
        if is_denial or not (_DENIED.search(before) or _DENIED_AFTER.match(text, found.end())):
            return True
    return False


def _plain(text: str) -> str:
    return _UNIT_SPACE.sub("", _SPACE.sub(" ", text.lower()).strip())
