"""Reads a closed answer (yes or no, or one of a list) out of free text, whatever stands around it.

An answer counts only where the text commits to one: words that merely name the choices ("yes or no"), deny one ("not a
yes") or use "no" as a determiner ("no evidence of fracture") commit to nothing. Two different commitments without a
conclusion are no answer.
"""

import re
from collections.abc import Sequence

from healthgym.evaluation.text_overlap import words

_THINKING = re.compile(r"^.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_OPEN_THINKING = re.compile(r"^\s*<think(?:ing)?>", re.IGNORECASE)
_DUMP = re.compile(
    r"\b(?:yes\W{0,3}(?:or|/|\\|\||versus|vs\.?)\W{0,3}no|no\W{0,3}(?:or|/|\\|\||versus|vs\.?)\W{0,3}yes)\b", re.I
)
_DENIED = re.compile(
    r"\b(?:not|never|isn['’]?t|neither|nor|rather than|instead of)\W{1,3}(?:an?\W{1,3})?(?:simple\W+)?(?:yes|no)\b",
    re.I,
)
_YES_NO = re.compile(r"(?<![\w-])(yes|no)(?![\w-])", re.I)
_AFTER_NO = re.compile(
    r"\W*$|\s*[.,;:!()\[\]}\"'”’*_`<\n–—-]|\s+(?:there|it|this|that|these|those|the|they|he|she|we|i|because|since|as|is)\b",
    re.I,
)
_NUMBERED = re.compile(r"\.\s*\d")
_CONCLUSION = re.compile(
    r"(?:\b(?:final\s+)?answer\b(?:\s+(?:to\s+the\s+question\s+)?(?:is|would\s+be|must\s+be))?|\\boxed|\bin\s+conclusion\b|"
    r"\bconclusion\b|\btherefore\b|\bthus\b|\bhence\b|\bso\b|\boverall\b)[\s:,*_`\"'“‘({\[=-]*$",
    re.I,
)
_NOT = re.compile(r"\b(?:not|no|without|never|neither|nor|rather than|instead of|\w+n t)\W+(?:\w+\W+)?$", re.I)
_MARK = re.compile(r"\b(?:final\s+)?answer\b\s*(?:is\b|would\s+be\b|must\s+be\b|[:=])|\\boxed", re.I)


def answer_part(text: str) -> str:
    """Return what follows the thinking of a reasoning model; nothing when the thinking never ends."""
    shown = _THINKING.sub("", text, count=1)
    return "" if _OPEN_THINKING.match(shown) else shown


def read_yes_no(text: str) -> str | None:
    """Return "yes" or "no" where the text commits to one of them, else None.

    In this order: the last one that stands as a conclusion ("the answer is", "so", "therefore", a box); the only one
    that the text commits to anywhere.
    """
    shown = answer_part(text)
    shown = _DENIED.sub(" ", _DUMP.sub(" ", shown))
    committed: list[str] = []
    concluded: str | None = None
    for found in _YES_NO.finditer(shown):
        word = found[1].lower()
        after = shown[found.end() :]
        if word == "no" and (not _AFTER_NO.match(after) or _NUMBERED.match(after)):
            continue
        committed.append(word)
        if _CONCLUSION.search(shown[max(0, found.start() - 60) : found.start()]):
            concluded = word
    if concluded is not None:
        return concluded
    return committed[0] if len(set(committed)) == 1 else None


def read_choice(text: str, choices: Sequence[str]) -> str | None:
    """Return the one of the choices that the text commits to, else None.

    Choices are found as whole words, in order, case and punctuation aside; of overlapping finds the longest counts, and
    one right after a negation does not. What follows the last "answer is" or "answer:" is read first; it decides when
    it names exactly one choice.
    """
    shown = answer_part(text)
    marks = list(_MARK.finditer(shown))
    if marks:
        line = shown[marks[-1].end() :].strip().split("\n", 1)[0]
        named = _named(line, choices)
        if len(named) == 1:
            return named.pop()
    named = _named(shown, choices)
    return named.pop() if len(named) == 1 else None


def _named(text: str, choices: Sequence[str]) -> set[str]:
    """Return the choices that a text names without denying them."""
    spelt = {tuple(words(choice)): choice for choice in reversed(choices) if words(choice)}
    by_first: dict[str, list[tuple[str, ...]]] = {}
    for one in sorted(spelt, key=len, reverse=True):
        by_first.setdefault(one[0], []).append(one)
    named: set[str] = set()
    for sentence in re.split(r"[.;!?\n。；！？]+(?=\s|$)|\n", text):
        said = words(sentence)
        place = 0
        while place < len(said):
            candidates = by_first.get(said[place], ())
            found = next((one for one in candidates if tuple(said[place : place + len(one)]) == one), None)
            if found is None:
                place += 1
                continue
            if not _NOT.search(" ".join(said[max(0, place - 3) : place]) + " "):
                named.add(spelt[found])
            place += len(found)
    return named
