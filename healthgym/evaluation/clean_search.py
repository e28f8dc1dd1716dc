"""A knowledge base without the benchmark's own questions: passages that repeat its words are never found nor read."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from healthgym.errors import ConfigError
from healthgym.evaluation.items import Item
from healthgym.retrieval.audit import WORDS, word_overlaps
from healthgym.retrieval.evaluation_texts import PARTS, EvaluationText
from healthgym.retrieval.passages import Passage
from healthgym.retrieval.retriever import Hit, QueryError, Retriever
from healthgym.retrieval.store import PassageStore

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class SearchRecord:
    """What a run searched, for its rows and report.

    index: digest of the passages' ids and sources; two bases with the same one hold the same passages.
    passages: how many there are.
    audited: whether they were compared with the benchmark's texts.
    overlapping: passages that shared at least 13 words in a row with one of those texts.
    excluded: passages that no search returned, by that audit or by a list given beforehand.
    exclusion: digest of their ids.
    """

    index: str
    passages: int
    audited: bool
    overlapping: int
    excluded: int
    exclusion: str

    def to_record(self) -> dict[str, Any]:
        """Return the record as JSON-like data."""
        return asdict(self)


class CleanSearch:
    """Searches like the retriever it wraps, never returning some passages. Safe to share between threads if that is."""

    def __init__(self, retriever: Any, excluded: frozenset[str]) -> None:
        self.retriever, self.excluded = retriever, excluded

    def search(self, query: str, k: int = 5, **options: Any) -> list[Hit]:
        """Return at most k hits; see Retriever.search for options and errors."""
        more = frozenset(options.pop("exclude", ()))
        return self.retriever.search(query, k, exclude=self.excluded | more if more else self.excluded, **options)  # type: ignore[no-any-return]

    def passage(self, passage_id: str) -> Passage:
        """Return a passage by id. Raises QueryError for one that is excluded, as for one that is not there."""
        if passage_id in self.excluded:
            raise QueryError(f"No passage has the id {passage_id!r}. Use an id as a search returned it.")
        return self.retriever.passage(passage_id)  # type: ignore[no-any-return]


def clean_search(retriever: Any, items: Sequence[Item], *, audited: bool = True) -> tuple[CleanSearch, SearchRecord]:
    """Return a search that finds no passage sharing 13 words in a row with the items, and what it left out.

    Args:
        retriever: A Retriever, or a service around one.
        items: Every item of the benchmark, not only those that are asked, so that a part of a run and the whole search the
            same passages. Looked for are `question`, `context` and each of `options`.
        audited: False leaves the comparison out; the passages that the retriever itself excludes stay excluded.

    Raises:
        ConfigError: The retriever's passages cannot be read, so nothing is known of what it would find.
    """
    inner = retriever if isinstance(retriever, Retriever) else getattr(retriever, "retriever", None)
    if not isinstance(inner, Retriever):
        if audited:
            raise ConfigError(
                f"{type(retriever).__name__} does not show its passages, so they cannot be compared with the benchmark's "
                "questions. Open an index with open_retriever(), or switch the comparison off with --set audited=no."
            )
        return CleanSearch(retriever, frozenset()), SearchRecord(
            index="", passages=0, audited=False, overlapping=0, excluded=0, exclusion=_digest(())
        )
    overlapping = _overlapping(inner.store, items) if audited else frozenset()
    excluded = overlapping | inner.excluded
    record = SearchRecord(
        index=index_digest(inner), passages=len(inner.store), audited=audited, overlapping=len(overlapping),
        excluded=len(excluded), exclusion=_digest(excluded),
    )  # fmt: skip
    if overlapping:
        logger.warning(
            "%d of %d passages repeat the benchmark's words and are excluded", len(overlapping), record.passages
        )
    return CleanSearch(retriever, excluded), record


def index_digest(retriever: Retriever) -> str:
    """Return the SHA-256 over what names an index: its manifest's digest, or ids and texts of passages in memory."""
    known = retriever.info.get("digest")
    if isinstance(known, str):
        return known
    store = retriever.store
    return _digest(f"{store[place].id}\n{store[place].full_text}" for place in range(len(store)))


def texts_of(items: Iterable[Item]) -> list[EvaluationText]:
    """Return the texts by which items are looked for among passages."""
    return [
        EvaluationText(item=item.id, file="", part=part, text=text)
        for item in items
        for part in PARTS
        for text in _texts(item.content.get(part))
    ]


def _texts(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    values = value if isinstance(value, list | tuple) else [value]
    return [text for text in values if isinstance(text, str) and text.strip()]


def _overlapping(store: PassageStore, items: Sequence[Item]) -> frozenset[str]:
    found = word_overlaps(store, texts_of(items), WORDS, lambda what, done, total: None)
    return frozenset(each.passage for each in found)


def _digest(parts: Iterable[str]) -> str:
    total = sha256()
    for part in sorted(parts):
        total.update(part.encode("utf-8", "backslashreplace") + b"\0")
    return total.hexdigest()[:32]
