"""The answer that free text gives to a question of multiple choice, read so that padding around it changes nothing.

Text is searched for claims; the first letter seen is none. From the strongest kind to the weakest:

- stated: "the answer is C", "Answer: (C)", a boxed or tagged answer, "I choose C", "C is correct", or the same with the
  option's text in place of its label; see `answer_words`;
- alone: a label that has a line to itself, "C" or "(C)", or only "because" after it;
- labelled: a line that begins with a label and the text of its option, "C. Metformin";
- text: an option's text that has a line to itself.

The strongest kind that occurs decides, and only if all of its claims name one option; a label alone must agree with what
is stated. A list of all options is no claim: as often as every option occurs, one of each is taken away, wherever they
stand and in whatever order. What is denied, asked, or said under a condition is no claim either.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from healthgym.evaluation.answer_words import (
    CERTAIN,
    CLAUSE,
    CONNECTORS,
    CUES,
    DOUBTS,
    LEADS,
    VERDICT,
    VERDICT_LEADS,
)
from healthgym.evaluation.refusals import is_refusal, only_declines

_ALIKE = dict(zip("АВСЕНКМОРТХІЅЈΑΒΕΖΗΙΚΜΝΟΡΤΧ", "ABCEHKMOPTXISJABEZHIKMNOPTX", strict=True))
"""Cyrillic and Greek capitals by the Latin ones they look like."""
_ALONE_ALIKE = re.compile(rf"(?<!\w)[{''.join(_ALIKE)}](?!\w)|(?<=[是为選选])[{''.join(_ALIKE)}](?!\w)")
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.S)
_WRAPPED = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\s?\{([^{}\n]{0,400})\}")
_MARKS = re.compile(r"[*`$]|__|^[ \t]*[>#•]+|^[ \t]*-(?=[ \t])", re.M)
_SPACES = re.compile(r"[^\S\n]+")
_DOUBT, _CERTAIN = re.compile(DOUBTS, re.I), re.compile(CERTAIN, re.I)
_CLAUSE = re.compile(CLAUSE, re.I)
_CONNECTOR = re.compile(CONNECTORS, re.I)
_DENIED_AFTER = re.compile(r"[)\]\"'”’]{0,2} (?:is|was|would be)(?: \w+ly)? (?:not|wrong|incorrect|false)\b", re.I)
_CLOSERS = re.compile(r"[)\]}\"'”’.:,;!]*")
_END = r"(?![A-Za-z0-9_\u00c0-\u04ff'’]|-\w)"
"""No further letter: the label is not the beginning of a word."""
REACH = 80
"""Characters before a statement in which a doubt is looked for."""


def extract(text: str, options: Mapping[str, str]) -> tuple[str | None, str]:
    """Return the label of the option that a text answers with, and the rule that found it.

    The time grows linearly with the text.

    Args:
        text: What the model wrote; a block of reasoning in <think> is left out.
        options: The options' texts by label. Labels are single capitals, or words such as yes, no and maybe.

    Returns:
        (label, stated | alone | labelled | text), or (None, empty | conflict | refusal | none): nothing was written, claims
        name different options, the model declined, or nothing is claimed.
    """
    clean = _cleaned(_after_thought(text))
    if not clean:
        return None, "empty"
    reader = _reader(tuple(options.items()))
    lines = clean.split("\n")
    begun = list(reader.begun(lines))
    labelled = Counter(reader.labelled(clean)) + Counter(label for label, whole in begun if not whole)
    begins = {label for label, _ in begun}
    stated, alone = Counter(reader.stated(clean)), _unlisted(Counter(reader.alone(lines)), options)
    claims = {
        "stated": stated + alone if stated else stated,
        "alone": alone,
        "labelled": Counter({label: n for label, n in _unlisted(labelled, options).items() if label in begins}),
        "text": _unlisted(Counter(reader.texts(lines)), options),
    }
    for rule, found in claims.items():
        if len(found) == 1:
            return next(iter(found)), rule
        if found:
            return None, "conflict"
    return None, "refusal" if is_refusal(clean) or only_declines(clean) else "none"


class _Reader:
    """Finds claims for one set of options in cleaned text."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = options
        self.by_fold = {label.casefold(): label for label in options}
        self.are_words = any(len(label) > 1 for label in options)
        folded = {label: _folded(text) for label, text in options.items()}
        counts = Counter(folded.values())
        self.text = folded
        self.by_text = {
            text: label
            for label, text in folded.items()
            if counts[text] == 1 and text not in self.by_fold and (len(text) > 1 or _is_number(text))
        }
        # The longest first: "hepatitis B vaccine" is not "hepatitis B".
        texts = "|".join(map(re.escape, sorted(self.by_text, key=len, reverse=True))) or r"(?!)"
        words = "|".join(map(re.escape, options))
        capital = f"(?i:{words})" if self.are_words else f"(?:{words})"
        small = f"(?i:{words})(?=[)\\].]{{0,2}}(?:\n|$))"
        text = rf"(?P<text>(?<!\w)(?i:{texts})(?![A-Za-z0-9\u00c0-\u04ff]|[.,]\d))"
        label = rf"(?P<label>(?:{capital}|{small}){_END})"
        opening = r"[\"'“‘(\[{]{0,3}\s?"
        self._statement = re.compile(rf"(?i:{CUES})\s{{0,4}}(?i:{LEADS}\s?)?{opening}(?:{text}|{label})")
        before = rf"(?:^|(?<=[\n.!?;:,(\[\"'“] )|(?<=[\n(\[\"'“])|(?<=[。，])|\b(?i:{VERDICT_LEADS}) )"
        self._verdict = re.compile(rf"{before}{opening}(?:{text}|{label})[)\]\"'”]{{0,2}}(?i:{VERDICT})", re.M)
        perhaps = r"(?:(?:maybe|perhaps|possibly|probably)\s)?"
        more = rf"\s?(?:,|/|&|\bor\b|\band\b|或|和)\s?(?:(?:or|and)\s)?{perhaps}(?:option\s)?[(\[]?"
        self._more = re.compile(rf"[)\]]?{more}(?P<label>{capital}){_END}", re.I if self.are_words else 0)
        beside = rf"[)\]\"'”’]?\s?(?:/|&|\bor\b|\band\b|或|和)\s?{perhaps}(?:the\s)?[(\[\"'“]?"
        self._more_text = re.compile(
            rf"(?i:{beside}){text}(?! (?:is|are|was|were|would|can|could|should|may|has|have)\b)"
        )
        pairs = "|".join(
            rf"{re.escape(label)}[)\].:]{{0,2}}(?:[ \n]|[ \n]?[-–:][ \n]?)?{re.escape(text)}(?!\w)"
            for label, text in sorted(folded.items(), key=lambda pair: -len(pair[1]))
        )
        self._labelled = re.compile(
            rf"(?<!\w)(?i:(?:{pairs})(?! (?:is|are|was|would be) (?:not|wrong|incorrect|false)))"
        )
        self._begun = re.compile(rf"[(\[]?({capital})[)\].:]{{0,2}}(?: ?[-–:])? ?(.*)")
        lead = r"(?:(?:final )?(?:option|choice|answer|letter) )?"
        self._alone = re.compile(rf"(?i:{lead})[(\[\"'“]{{0,2}}({capital}|(?i:{words}))[)\]\"'”.:,;!]{{0,3}}", re.I)
        reason = r"[)\].:,]{0,2}(?: [-–])? (?:because|since)\b"
        self._reasoned = re.compile(rf"[(\[]?({capital})(?i:{reason}{'|[,.;:!]' if self.are_words else ''})")

    def stated(self, text: str) -> Iterator[str]:
        """Yield the label of every statement."""
        for match in self._statement.finditer(text):
            if not _is_doubted(text, match.start()):
                yield from self._claimed(text, match)
        for match in self._verdict.finditer(text):
            if not _is_doubted(text, match.start("text" if match["text"] else "label")):
                yield self._label(match)

    def _claimed(self, text: str, match: re.Match[str]) -> Iterator[str]:
        label, end = self._label(match), match.end()
        if text.startswith("?", end) or text.startswith(")?", end) or _DENIED_AFTER.match(text, end):
            return
        found, is_text = [label], match["text"] is not None
        while more := (self._more_text if is_text else self._more).match(text, end):
            found.append(self.by_text[more["text"].casefold()] if is_text else self.by_fold[more["label"].casefold()])
            end = more.end()
        if len(found) > 1:
            if set(found) != set(self.options):
                yield from found
            return
        if is_text:
            yield label
        elif self._stands(text, end, label):
            yield label
            rest = text[end : end + REACH].lstrip(" )].:-–\"'").casefold()
            for other, folded in self.text.items():
                if other != label and len(folded) > 3 and folded not in self.text[label] and rest.startswith(folded):
                    yield other

    def _label(self, match: re.Match[str]) -> str:
        if match["text"]:
            return self.by_text[match["text"].casefold()]
        return self.by_fold[match["label"].casefold()]

    def _stands(self, text: str, end: int, label: str) -> bool:
        """Say whether a label is followed by an end, a reason or its own text, and not by the rest of a phrase."""
        closed = _CLOSERS.match(text, end)
        at = closed.end() if closed else end
        rest = text[at : at + REACH].lstrip(" -–—")
        if self.are_words or not rest or rest[0] == "\n" or not rest[0].isalnum() or not rest[0].isascii():
            return True
        first = self.text[label].split(" ", 1)[0]
        if _CONNECTOR.match(rest) or rest.casefold().startswith(first):
            return True
        return at > end and rest[0].isupper()

    def alone(self, lines: Sequence[str]) -> Iterator[str]:
        """Yield the label of every line that holds a label only, or a label and a reason."""
        for line in lines:
            if match := self._alone.fullmatch(line) or self._reasoned.match(line):
                yield self.by_fold[match[1].casefold()]

    def labelled(self, text: str) -> Iterator[str]:
        """Yield the label of every place where a label stands before the text of its option, unless that is called wrong."""
        for match in self._labelled.finditer(text):
            found = match[0].casefold()
            yield next(label for label in self.options if found.startswith(label.casefold()))

    def begun(self, lines: Sequence[str]) -> Iterator[tuple[str, bool]]:
        """Yield (label, whether whole) of every line that begins with a label and its option's text, or that text's start."""
        for line in lines:
            if not (match := self._begun.match(line)) or not match[2]:
                continue
            label, rest = self.by_fold[match[1].casefold()], match[2].casefold()
            text = self.text[label]
            whole = rest.startswith(text) and not rest[len(text) : len(text) + 1].isalnum()
            if whole or (len(rest) >= 8 and text.startswith(rest.rstrip(" .…"))):
                yield label, whole

    def texts(self, lines: Sequence[str]) -> Iterator[str]:
        """Yield the label of every line that is an option's text."""
        for line in lines:
            label = self.by_text.get(line.strip(" .\"'“”").casefold()) or self.by_text.get(line.casefold())
            if label is not None:
                yield label


@lru_cache(maxsize=256)
def _reader(options: tuple[tuple[str, str], ...]) -> _Reader:
    return _Reader(dict(options))


def _folded(text: str) -> str:
    """Return an option's text as it is looked for: small letters, one line, without a full stop at its end."""
    clean = _cleaned(text).replace("\n", " ").casefold()
    return clean.rstrip(" .") or clean


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _is_doubted(text: str, start: int) -> bool:
    """Say whether the clause that leads to a statement denies it or puts it under a condition."""
    before = text[max(0, start - REACH) : start]
    begin = max((match.end() for match in _CLAUSE.finditer(before)), default=0)
    return _DOUBT.search(_CERTAIN.sub("", before[begin:])) is not None


def _after_thought(text: str) -> str:
    """Return the text without reasoning; where a template opened the block, the text holds its end only."""
    text = _THOUGHT.sub("", text)
    return text[text.rfind("</think>") + len("</think>") :] if "</think>" in text else text


def _cleaned(text: str) -> str:
    """Return the text with compatible characters unified, marks of Markdown and LaTeX and needless spaces taken away."""
    text = unicodedata.normalize("NFKC", text)
    text = _ALONE_ALIKE.sub(lambda match: _ALIKE[match[0]], text)
    text = _MARKS.sub("", _WRAPPED.sub(r"\1", text))
    return "\n".join(line.strip() for line in _SPACES.sub(" ", text).splitlines()).strip()


def _unlisted(found: Counter[str], options: Mapping[str, str]) -> Counter[str]:
    """Return counts without complete lists: as often as every option occurs, one of each is taken away."""
    lists = min(found[label] for label in options)
    return Counter({label: count - lists for label, count in found.items() if count > lists})
