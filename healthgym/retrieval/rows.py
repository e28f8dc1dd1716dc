"""Rows of corpora as passages: other names of fields, defaults for what a row does not say, long texts cut."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from healthgym.errors import ConfigError, ContentError, nearest
from healthgym.retrieval.chunking import LONGEST_WORD, MAX_WORDS, chunk_text
from healthgym.retrieval.passages import REQUIRED, Passage

UNKNOWN_LICENCE = "NOASSERTION"
"""SPDX's word for a licence that nobody stated."""

NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "_id", "passage_id", "doc_id"),
    "title": ("title",),
    "text": ("text", "content", "contents", "abstract"),
    "source": ("source",),
    "licence": ("licence", "license"),
    "section": ("section",),
    "ref": ("ref", "url", "PMID", "pmid"),
    "date": ("date", "published", "year"),
}
"""Keys that a part of a passage is looked for under, the first that is not empty wins. MedRAG's corpora have id, title,
content and contents (title and content together), PubMed a PMID besides."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How corpora are read."""

    source: str | None = None
    """Source of passages that state none; the name of the file, folder or dataset when None."""

    licence: str | None = None
    """Licence of passages that state none. None: rows of passage files must state one, other texts get NOASSERTION."""

    fields: Mapping[str, str] = field(default_factory=dict)
    """Key of a row by part of a passage, looked at before NAMES: {'text': 'body'}."""

    skip_bad: bool = False
    """Leave out rows and files that cannot be used and count them, rather than stop at the first."""

    def __post_init__(self) -> None:
        for part in self.fields:
            if part not in NAMES:
                raise ConfigError(f"No part of a passage is called {part!r}.{nearest(part, NAMES)}")


def row_passages(row: Any, where: str, reading: Reading, defaults: Mapping[str, str | None]) -> list[Passage]:
    """Return the passage of a row, or several where its text has more than 120 words.

    Args:
        row: Decoded JSON object, or row of a dataset.
        where: File and line, named in errors.
        reading: Names of fields, source and licence.
        defaults: Parts that stand in where the row has none.

    Raises:
        ContentError: no mapping, or a part is missing, empty or of another type.
    """
    if not isinstance(row, Mapping):
        raise ContentError(f"{where}: expected an object with {', '.join(REQUIRED)}; got {type(row).__name__}")
    stated = {part: _look_up(row, part, reading.fields) for part in NAMES}
    stated |= {part: stated[part] or value for part, value in defaults.items() if not stated.get(part)}
    if not stated["licence"]:
        raise ContentError(
            f"{where}: licence missing. Name the one of all rows that state none with --licence, for example "
            f"--licence CC-BY-4.0, or --licence {UNKNOWN_LICENCE} when nobody knows"
        )
    return cut(Passage.from_row(stated, where))


def _look_up(row: Mapping[str, Any], part: str, fields: Mapping[str, str]) -> Any:
    for key in (fields[part],) if part in fields else NAMES[part]:
        value = row.get(key)
        if value is None or value == "":
            continue
        if key in ("PMID", "pmid"):
            return f"PMID {value}"
        return str(value) if part in ("date", "id") and isinstance(value, int) else value
    return None


def cut(passage: Passage) -> list[Passage]:
    """Return the passage, or its parts 'ID#0', 'ID#1', ... of at most 120 words each, with its title and origin."""
    words = passage.text.split()
    if len(words) <= MAX_WORDS and max(map(len, words)) <= LONGEST_WORD:
        return [passage]
    chunks = list(chunk_text(passage.text))
    if len(chunks) == 1:
        return [replace(passage, text=chunks[0])]
    return [replace(passage, id=f"{passage.id}#{number}", text=chunk) for number, chunk in enumerate(chunks)]
