"""Text cut into passages at sentences, with the headings it stands under."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

MAX_WORDS = 120
SHORT = 24
"""A last chunk of fewer words takes sentences over from the one before."""

LONGEST_WORD = 200
"""A longer run of signs without a space is broken: it is data or a scanning error, and no encoder reads it whole."""

_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*$")
_LIST_ITEM = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9])")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"'“‘])(?:e\.g|i\.e|vs|cf|Drs?|Prof|Mr|Mrs|Ms|St|Figs?|No|Nos|Eqs?|Refs?|Vol|Chap|Sect|Suppl|al|approx|ca|"
    r"resp|incl|esp|var|subsp|spp?|Inc|Ltd|Corp|Jr|Sr|[A-Z](?:\.[A-Z])*)\.$"
)
_BEFORE_NUMBER = re.compile(
    r"(?:^|[\s(\[])(?:max|min|no|nos|p|pp|vol|fig|figs|tab|eq|ref|refs|sec|ch|est|avg)\.$", re.IGNORECASE
)
_ENUMERATION = re.compile(r"(?:^|[:;]\s)\(?\d{1,2}\.$")
_LETTER_NAME = re.compile(
    r"\b(?:vitamins?|hepatitis|types?|groups?|factors?|stages?|grades?|class|phase|influenza|category|categories|levels?|and|or|"
    r"part|appendix|arm|table|protein|immunoglobulin)\s[A-Z]\.$",
    re.IGNORECASE,
)
_BEHIND = 40
"""Signs before a stop that decide whether it ends a sentence."""


LONGEST_BLOCK = 1 << 20
"""Signs of a paragraph that are looked at together; a longer one is broken at a line end."""


def markdown_sections(lines: Iterable[str]) -> Iterator[tuple[str | None, Iterator[str]]]:
    """Yield (heading, lines below it) in order; the heading is None before the first one. Take the lines before going on."""
    for (_, heading), section in groupby(_under_headings(lines), key=lambda each: each[:2]):
        yield heading, (line for _, _, line in section if line is not None)


def _under_headings(lines: Iterable[str]) -> Iterator[tuple[int, str | None, str | None]]:
    """Yield (number of the section, its heading, line); a heading comes with the line None."""
    number, heading, fenced = 0, None, False
    for line in lines:
        fenced ^= line.lstrip().startswith("```")
        found = None if fenced else _HEADING.match(line)
        if found:
            number, heading = number + 1, found[2]
        yield number, heading, None if found else line


def chunk_text(text: str | Iterable[str], max_words: int = MAX_WORDS) -> Iterator[str]:
    """Yield chunks of at most `max_words` words, cut between sentences; only a longer sentence is cut inside.

    Give a long text as its lines, which are then read as chunks are taken.

    Paragraphs may share a chunk, and a short rest takes sentences over, so that no passage has three words.
    """
    previous: list[list[str]] = []
    chunk: list[list[str]] = []
    for sentence in _sentences_of_at_most(text, max_words):
        if chunk and sum(map(len, chunk)) + len(sentence) > max_words:
            if previous:
                yield _joined(previous)
            previous, chunk = chunk, []
        chunk.append(sentence)
    if previous and sum(map(len, chunk)) < SHORT:
        while len(previous) > 1 and _words(previous) - len(previous[-1]) >= _words(chunk) + len(previous[-1]):
            chunk.insert(0, previous.pop())
    for rest in (previous, chunk):
        if rest:
            yield _joined(rest)


def _words(sentences: list[list[str]]) -> int:
    return sum(map(len, sentences))


def _joined(sentences: list[list[str]]) -> str:
    return " ".join(word for sentence in sentences for word in sentence)


def _sentences_of_at_most(text: str | Iterable[str], max_words: int) -> Iterator[list[str]]:
    """Yield the words of each sentence, those of a longer one in several parts."""
    for sentence in split_sentences(text):
        words = [
            word[start : start + LONGEST_WORD]
            for word in sentence.split()
            for start in range(0, len(word), LONGEST_WORD)
        ]
        for start in range(0, len(words), max_words):
            yield words[start : start + max_words]


def split_sentences(text: str | Iterable[str]) -> Iterator[str]:
    """Yield the sentences of a text or of its lines; blank lines and list items end one as well."""
    for block in _blocks(text.splitlines() if isinstance(text, str) else text):
        sentences, start = [], 0
        for end in _SENTENCE_END.finditer(block):
            stop = end.start()
            if not _goes_on(block[max(start, stop - _BEHIND) : stop], block[end.end()]):
                sentences.append(block[start:stop] + end.group().rstrip())
                start = end.end()
        sentences.append(block[start:])
        yield from (sentence for sentence in map(str.strip, sentences) if sentence)


def _goes_on(before: str, following: str) -> bool:
    """Return whether the stop at the end of `before` ends an abbreviation, an initial or a number of a list."""
    if following.isdigit() and _BEFORE_NUMBER.search(before):
        return True
    if _ENUMERATION.search(before):
        return True
    return bool(_ABBREVIATION.search(before)) and not _LETTER_NAME.search(before)


def _blocks(lines: Iterable[str]) -> Iterator[str]:
    block: list[str] = []
    size = 0
    for line in lines:
        if block and (not line.strip() or _LIST_ITEM.match(line) or size > LONGEST_BLOCK):
            yield " ".join(block)
            block, size = [], 0
        if line.strip():
            block.append(line.strip())
            size += len(line)
    if block:
        yield " ".join(block)
