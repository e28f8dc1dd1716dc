"""Words of a text as the lexical index and the hashing encoder see them."""

import re

WORD = re.compile(r"\d+(?:\.\d+)+|[^\W_]+")
"""Decimal numbers stay whole; any other sign separates words."""

_STOP = """a about after all also an and any are as at be because been being both but by can could did do does doing for from
had has have having he her here him his how i if in into is it its itself just me more most my no nor not of on once only or
other our out over own she should so some such than that the their them then there these they this those through to too
under until up very was we were what when where which while who whom why will with would you your"""
STOP_WORDS = frozenset(_STOP.split())


def tokenize(text: str) -> list[str]:
    """Return the lower-case words of a text in order, stop words left out, plurals brought to the singular."""
    return [singular(word) for word in WORD.findall(text.lower()) if word not in STOP_WORDS]


def singular(word: str) -> str:
    """Strip an English plural ending. Applied to passages and queries alike, so 'sepsis' may well lose its s.

    Source: the S stemmer of Harman, "How effective is suffixing?", JASIS 1991;42(1):7-15, table 1.
    """
    if len(word) < 4 or not word.endswith("s"):
        return word
    if word.endswith("ies"):
        return word if word.endswith(("eies", "aies")) else word[:-3] + "y"
    if word.endswith("es"):
        return word if word.endswith(("aes", "ees", "oes")) else word[:-1]
    return word if word.endswith(("us", "ss")) else word[:-1]
