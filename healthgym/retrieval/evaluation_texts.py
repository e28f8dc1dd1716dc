"""Texts of evaluation sets: what an audit looks for among passages."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from healthgym.errors import ContentError
from healthgym.retrieval.passages import decode_row, read_lines

PARTS = ("question", "context", "options")


@dataclass(frozen=True, kw_only=True)
class EvaluationText:
    """One text of an evaluation item."""

    item: str
    """Id of the item; file and line where it has none."""

    file: str
    part: str
    """'question', 'context' or 'options'."""

    text: str


def read_evaluation_texts(paths: Iterable[Path | str]) -> Iterator[EvaluationText]:
    """Yield the texts of evaluation sets: JSON lines with question, and context and options where there are any.

    Each option is a text of its own; options may be a list, or a mapping of letters to texts.

    Raises:
        ContentError: no such file, a broken row, or one with neither a question nor a context; names file and line.
    """
    for path in map(Path, paths):
        for where, line in read_lines(path):
            row = decode_row(where, line)
            if not isinstance(row, dict) or not any(isinstance(row.get(part), str) for part in PARTS[:2]):
                raise ContentError(f"{where}: expected an object with a text in question or context")
            for part in PARTS:
                for text in _texts(row.get(part), f"{where}: {part}"):
                    yield EvaluationText(item=str(row.get("id") or where), file=path.name, part=part, text=text)


def _texts(value: Any, where: str) -> list[str]:
    if value is None:
        return []
    values = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) for text in values):
        raise ContentError(f"{where} must be text, or a list or mapping of texts")
    return [text for text in values if text.strip()]
