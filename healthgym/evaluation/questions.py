"""A question of multiple choice as an item, checked: what every file format of such questions comes down to."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from healthgym.errors import ConfigError
from healthgym.evaluation.items import Item
from healthgym.evaluation.question_files import Record

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_HALF_PAIR = re.compile("[\ud800-\udfff]")
DECISIONS = {"yes": "yes", "no": "no", "maybe": "maybe"}
"""Options of a question that is answered by yes, no or maybe."""
PACK_COLUMNS = ("id", "benchmark", "question", "options", "answer")


def question(
    where: str,
    *,
    id: str,
    text: Any,
    options: Any,
    answer: Any,
    context: Any = None,
    strata: Mapping[str, Any] | None = None,
) -> Item:
    """Return one question as an item whose content holds question, options, answer, context and subset.

    Args:
        where: Its place in the data, for messages.
        id: Unique within the benchmark.
        text: The question.
        options: Texts by label, or a list, which gets the letters from A.
        answer: Label of the right option.
        context: What the question is about, or None.
        strata: What results are broken down by; empty values are left out.

    Raises:
        ConfigError: Something is missing, empty, or does not fit; names the place.
    """
    if not isinstance(text, str) or not text.strip():
        raise ConfigError(f"{where}: the question must be a text that is not empty, got {text!r}")
    labelled = _labelled(where, options)
    if not isinstance(answer, str) or answer not in labelled:
        raise ConfigError(f"{where}: the answer {answer!r} is none of the options {', '.join(labelled)}")
    if context is not None and not isinstance(context, str):
        raise ConfigError(f"{where}: the context must be a text or null, got {type(context).__name__}")
    for part in (id, text, context or "", *labelled, *labelled.values()):
        if _HALF_PAIR.search(part):
            raise ConfigError(
                f"{where}: {part[:40]!r} holds half a surrogate pair, which is no text; save the data in UTF-8 again"
            )
    named = {name: str(value) for name, value in (strata or {}).items() if value not in (None, "")}
    content = {
        "question": text, "options": labelled, "answer": answer, "context": context or None,
        "subset": named.get("subset", ""),
    }  # fmt: skip
    return Item(id=id, content=content, strata=named)


def _labelled(where: str, options: Any) -> dict[str, str]:
    if isinstance(options, Sequence) and not isinstance(options, str):
        if len(options) > len(LETTERS):
            raise ConfigError(f"{where}: {len(options)} options are more than there are letters")
        options = dict(zip(LETTERS, options, strict=False))
    if not isinstance(options, Mapping) or len(options) < 2:
        raise ConfigError(f"{where}: a question needs at least two options, got {options!r}")
    for label, text in options.items():
        if not isinstance(text, str) or not text.strip():
            raise ConfigError(f"{where}: option {label} must be a text that is not empty, got {text!r}")
        if not str(label).strip():
            raise ConfigError(f"{where}: an option has an empty label")
    return {str(label): text for label, text in options.items()}


def is_pack(record: Record) -> bool:
    """Say whether a record has the columns id, benchmark, question, options and answer."""
    return all(name in record.values for name in PACK_COLUMNS)


def pack_question(record: Record, benchmark: str) -> Item:
    """Return the item of a record with the columns id, benchmark, question, options, answer, context and subset.

    Args:
        record: Options null means yes, no or maybe.
        benchmark: What the record's `benchmark` has to be.

    Raises:
        ConfigError: The record belongs to another benchmark, or is no whole question.
    """
    if record["benchmark"] != benchmark:
        raise ConfigError(f"{record.where}: belongs to benchmark {record['benchmark']!r}, expected {benchmark!r}")
    options = record["options"]
    return question(
        record.where, id=record.text("id"), text=record["question"], options=DECISIONS if options is None else options,
        answer=record["answer"], context=record.values.get("context"), strata={"subset": record.values.get("subset")},
    )  # fmt: skip


def items_of(records: Sequence[Record], convert: Callable[[Record], Item]) -> list[Item]:
    """Return the items of records. Repeats of one question share a cluster, named by the first.

    Raises:
        ConfigError: Two records have one id, or one is no whole question.
    """
    places: dict[str, str] = {}
    first: dict[tuple[Any, ...], str] = {}
    made = []
    for record in records:
        item = convert(record)
        if item.id in places:
            raise ConfigError(f"{record.where}: the id {item.id!r} was already used at {places[item.id]}")
        places[item.id] = record.where
        content = item.content
        same = (content["question"], content["context"], tuple(sorted(content["options"].values())))
        made.append(replace(item, cluster=first.setdefault(same, item.id)))
    return made


def refuse_columns(record: Record, formats: Mapping[str, Sequence[str]]) -> ConfigError:
    """Return the error for a record that is in none of some formats, given by what they are and their columns."""
    known = "; ".join(f"{what}: {', '.join(columns)}" for what, columns in formats.items())
    return ConfigError(f"{record.where}: the columns {', '.join(map(str, record.values))} fit none of {known}")
