"""Corpora from files and folders: passage files as they are, text and Markdown cut at sentences."""

import re
from collections.abc import Iterator
from pathlib import Path

from healthgym.errors import ContentError
from healthgym.retrieval.passages import Passage, read_passages

MAX_WORDS = 120
UNKNOWN_LICENCE = "NOASSERTION"
"""SPDX's word for a licence that nobody stated."""

PASSAGE_SUFFIXES = (".jsonl", ".jsonl.gz")
TEXT_SUFFIXES = (".txt", ".md", ".markdown")

_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*$")
_LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9])")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|vs|cf|Dr|Prof|Mr|Mrs|Ms|St|Fig|No|al|approx|ca)\.$")


def read_corpus(path: Path | str, *, source: str | None = None, licence: str = UNKNOWN_LICENCE) -> Iterator[Passage]:
    """Yield the passages of a file or, sorted by path, of a folder and its sub-folders.

    Args:
        path: .jsonl or .jsonl.gz of passages; .txt or .md text; or a folder of such files.
        source: Source written on passages cut from text; the folder's or file's name by default.
        licence: Licence written on passages cut from text. Passage files keep their own.

    Raises:
        ContentError: nothing there, no readable file, or a broken one; names file and line.
    """
    root = Path(path)
    if root.is_dir():
        files = sorted(file for file in root.rglob("*") if file.is_file() and _kind(file))
        if not files:
            expected = ", ".join(PASSAGE_SUFFIXES + TEXT_SUFFIXES)
            raise ContentError(f"the corpus folder {root} holds no file that ends in {expected}")
    else:
        files = [root]
    for file in files:
        if _kind(file) == "passages":
            yield from read_passages(file)
        else:
            relative = file.relative_to(root) if root.is_dir() else Path(file.name)
            yield from chunk_file(file, relative.as_posix(), source=source or root.stem, licence=licence)


def chunk_file(file: Path, relative: str, *, source: str, licence: str) -> Iterator[Passage]:
    """Cut one text or Markdown file; `relative` names it in the ids and references of its passages."""
    if not file.is_file():
        raise ContentError(
            f"no corpus {file}: expected a file or a folder of passages (.jsonl, .jsonl.gz), text or Markdown"
        )
    if _kind(file) != "text":
        expected = ", ".join(PASSAGE_SUFFIXES + TEXT_SUFFIXES)
        raise ContentError(f"cannot read {file} as a corpus: expected a name that ends in {expected}")
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ContentError(f"{file} is not UTF-8 text ({error}); convert it first") from error
    sections = split_markdown(text) if file.suffix != ".txt" else [(None, text)]
    title = next((heading for heading, _ in sections if heading), None) or file.stem.replace("_", " ")
    number = 0
    for section, body in sections:
        for chunk in chunk_text(body):
            yield Passage(
                id=f"{source}:{relative}#{number}", title=title, section=section if section != title else None,
                text=chunk, source=source, licence=licence, ref=relative,
            )  # fmt: skip
            number += 1


def split_markdown(text: str) -> list[tuple[str | None, str]]:
    """Return (heading, body) pairs in order; the heading is None before the first one."""
    sections: list[tuple[str | None, list[str]]] = [(None, [])]
    fenced = False
    for line in text.splitlines():
        fenced ^= line.lstrip().startswith("```")
        heading = None if fenced else _HEADING.match(line)
        if heading:
            sections.append((heading[2], []))
        else:
            sections[-1][1].append(line)
    return [(heading, "\n".join(lines)) for heading, lines in sections if heading or any(map(str.strip, lines))]


def chunk_text(text: str, max_words: int = MAX_WORDS) -> Iterator[str]:
    """Yield chunks of at most `max_words` words, cut between sentences; only a longer sentence is cut inside.

    Paragraphs may share a chunk, so that short ones do not become passages of three words.
    """
    chunk: list[str] = []
    for sentence in split_sentences(text):
        words = sentence.split()
        if len(chunk) + len(words) > max_words and chunk:
            yield " ".join(chunk)
            chunk = []
        while len(words) > max_words:
            yield " ".join(words[:max_words])
            words = words[max_words:]
        chunk += words
    if chunk:
        yield " ".join(chunk)


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text; blank lines and list items end one as well."""
    sentences: list[str] = []
    for block in _blocks(text):
        start = 0
        for end in _SENTENCE_END.finditer(block):
            if not _ABBREVIATION.search(block[: end.start()]):
                sentences.append(block[start : end.start()] + end.group().rstrip())
                start = end.end()
        sentences.append(block[start:])
    return [sentence for sentence in map(str.strip, sentences) if sentence]


def _blocks(text: str) -> Iterator[str]:
    lines: list[str] = []
    for line in text.splitlines():
        if (not line.strip() or _LIST_ITEM.match(line)) and lines:
            yield " ".join(lines)
            lines = []
        if line.strip():
            lines.append(line.strip())
    if lines:
        yield " ".join(lines)


def _kind(file: Path) -> str | None:
    name = file.name.lower()
    if name.endswith(PASSAGE_SUFFIXES):
        return "passages"
    return "text" if name.endswith(TEXT_SUFFIXES) else None
