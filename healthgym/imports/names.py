"""Names of diagnoses, compared strictly: spelling may differ, meaning may not."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

_ROMAN = {"i": "1", "ii": "2", "iii": "3", "iv": "4", "v": "5"}
_NUMBERED = frozenset({"type", "stage", "grade", "class", "group", "factor"})
"""Words after which a Roman numeral is a number."""
_ARTICLES = frozenset({"an", "the"})
_ACRONYM = re.compile(r"\s*\(([A-Z][A-Za-z0-9-]{1,7})\)")
QUALIFIERS = frozenset(
    re.findall(
        r"\w+",
        "acute chronic subacute left right bilateral mild moderate severe primary secondary recurrent early late advanced "
        "stage grade type 1 2 3 4 suspected possible probable",
    )
)
"""Words that leave a shorter name which still tells the diagnosis: a text that says the shorter one names it."""


def normal_name(text: str) -> str:
    """Return a diagnosis in one spelling, so that equal strings mean equal names.

    Case, accents, punctuation, articles, possessive 's, "ae"/"oe"/"our" of British spelling, Roman numerals after "type" or
    "stage", "Diabetes mellitus, type 2" for "type 2 diabetes mellitus" and an acronym in brackets whose letters come from the words
    before it make no difference. Everything else does: numbers, sides, acute or chronic, denials, every further word.
    """
    text = _without_own_acronym(text.strip())
    parts = [part.strip() for part in text.split(",")]
    if len(parts) == 2 and all(parts):
        text = f"{parts[1]} {parts[0]}"
    return " ".join(plain_words(text))


def plain_words(text: str) -> list[str]:
    """Return the words of a text in one spelling, in order."""
    text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)).casefold()
    text = re.sub(r"['\u2019]s\b|(?<=s)['\u2019](?=\s|$)", "", text)
    text = re.sub(r"(?<=\w)\+", " positive ", text)
    text = re.sub(r"(?<=\w)[-\u2212](?=\s|$|[,)])", " negative ", text)
    words = re.findall(r"[^\W_]+(?:\.\d+)?", text)
    spelled = []
    for place, word in enumerate(words):
        if word in _ROMAN and place and words[place - 1] in _NUMBERED:
            word = _ROMAN[word]
        if word not in _ARTICLES and not (word == "a" and place == 0):  # elsewhere "a" may be that of hepatitis A
            spelled.append(re.sub(r"our(s?)$", r"or\1", re.sub(r"[ao]e", "e", word)))
    return spelled


def accepted_names(correct: str, synonyms: Iterable[str] = ()) -> list[str]:
    """Return the right name first, then every other that the case itself gives, in one spelling each.

    "Gastro-oesophageal reflux disease (GERD)" gives the acronym as well; other brackets stay part of the name.
    """
    names = [correct, *synonyms]
    for name in list(names):
        found = _ACRONYM.search(name)
        if found:
            names += [f"{name[: found.start()]}{name[found.end() :]}", found[1]]
    return list(dict.fromkeys(normal for normal in map(normal_name, names) if normal))


def naming(text: str, names: Sequence[str]) -> str:
    """Return the name, or the shorter one without its qualifiers, that a text says; '' when it says none. Plurals count."""
    said = f" {_singular(plain_words(text))} "
    for name in names:
        words = name.split()
        short = [word for word in words if word not in QUALIFIERS]
        for wanted in (words, short):
            if wanted and f" {_singular(wanted)} " in said:
                return " ".join(wanted)
    return ""


def _singular(words: Sequence[str]) -> str:
    return " ".join(word.removesuffix("s") if len(word) > 3 else word for word in words)


def _without_own_acronym(text: str) -> str:
    """Drop "(MG)" after "myasthenia gravis"; "(ruled out)" and every other bracket stays."""
    found = _ACRONYM.search(text)
    if not found:
        return text
    letters, before = found[1].lower().replace("-", ""), text[: found.start()].lower().lstrip()
    left = iter(before)
    spells = before[:1] == letters[:1] and all(letter in left for letter in letters)
    is_word = letters in QUALIFIERS or letters in ("no", "not", "never", "none", "without")
    return f"{text[: found.start()]}{text[found.end() :]}" if spells and not is_word else text
