"""Rows: one finished attempt each, appended to a file as they finish, so that a kill costs at most the line it cuts."""

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from healthgym.errors import HealthgymError
from healthgym.files import read_json

logger = logging.getLogger(__name__)

Status = Literal["answered", "refused", "degenerate", "truncated", "unparsed", "grader_error", "infra_error"]
STATUSES: tuple[Status, ...] = (
    "answered", "refused", "degenerate", "truncated", "unparsed", "grader_error", "infra_error",
)  # fmt: skip
LOST: tuple[Status, ...] = ("grader_error", "infra_error")
"""An attempt that says nothing about the model: in no rate, and made again when a run is resumed."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """What became of one attempt.

    id, attempt: the item and the number of the attempt; together they name the row.
    status: `answered` when the attempt ended in an answer that can be scored; what kept it from one otherwise.
    score: headline score in [0, 1] when answered, else None.
    scores: further scores by name.
    cluster, strata: those of the item.
    prediction: the answer as it was read from the output; None when there is none.
    gold: the answer that was expected, in the same form, or None where there is no single one.
    output: what the model wrote, whole, so that the row can be scored again; for an episode the last assistant message.
    seed: of the attempt.
    tokens, turns, tool_calls, hazards: counts, where they mean something.
    detail: JSON-like, whatever else the benchmark needs to score the row again or to explain it.
    error: what went wrong, for the two statuses in `LOST`.
    """

    id: str
    attempt: int = 0
    status: Status
    score: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    cluster: str = ""
    strata: Mapping[str, str] = field(default_factory=dict)
    prediction: str | None = None
    gold: str | None = None
    output: str = ""
    seed: int = 0
    tokens: int | None = None
    turns: int | None = None
    tool_calls: int | None = None
    hazards: int | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise HealthgymError(f"row {self.id!r}: status {self.status!r} is none of {', '.join(STATUSES)}")
        if (self.score is None) == (self.status == "answered"):
            raise HealthgymError(f"row {self.id!r}: an answered row has a score and no other has, got {self.score}")
        if self.score is not None and not 0.0 <= self.score <= 1.0:
            raise HealthgymError(f"row {self.id!r}: the score must lie in [0, 1], got {self.score}")

    @property
    def key(self) -> tuple[str, int]:
        """What names the row: (item id, number of the attempt)."""
        return self.id, self.attempt

    def to_record(self) -> dict[str, Any]:
        """Return the row as JSON-like data."""
        return asdict(self)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Row":
        """Rebuild a row. Raises HealthgymError or TypeError for a record that is none."""
        row = cls(**{name: record[name] for name in _NAMES if name in record})
        for names, kind in _KINDS:
            for name in names:
                value = getattr(row, name)
                if not isinstance(value, kind) or (isinstance(value, float) and not isfinite(value)):
                    raise HealthgymError(f"row {row.id!r}: {name} cannot be {value!r}")
        wrong = [value for value in row.scores.values() if not isinstance(value, int | float) or not isfinite(value)]
        if wrong:
            raise HealthgymError(f"row {row.id!r}: a score cannot be {wrong[0]!r}")
        return row


_NAMES = tuple(each.name for each in fields(Row))
_KINDS: tuple[tuple[tuple[str, ...], Any], ...] = (
    (("id", "cluster", "output", "error"), str),
    (("attempt", "seed"), int),
    (("scores", "strata", "detail"), Mapping),
    (("score", "tokens", "turns", "tool_calls", "hazards"), int | float | None),
)
"""What a stored row has to hold, so that one edited by hand is left out rather than trusted."""


class RowFile:
    """The rows of one evaluation. Each is appended in one write; the last row of a key counts."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.write(self._file, b"\n")

    def append(self, row: Row) -> None:
        """Append one row."""
        line = json.dumps(row.to_record(), ensure_ascii=False) + "\n"
        data = memoryview(line.encode("utf-8", "backslashreplace"))
        while data:
            data = data[os.write(self._file, data) :]

    def close(self) -> None:
        """Close the file; doing it twice changes nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def read_rows(path: str | Path) -> list[Row]:
    """Return the rows of a file in the order of their keys' first lines; of equal keys the last counts.

    Broken lines are left out and warned of: a kill cuts the last line short, and its attempt is made again. So are lines
    that hold no row.

    Raises:
        HealthgymError: The file is missing.
    """
    path = Path(path)
    if not path.is_file():
        raise HealthgymError(f"No rows at {path}. Rows of an evaluation lie in its folder, in rows.jsonl")
    rows: dict[tuple[str, int], Row] = {}
    broken = 0
    with path.open("rb") as file:
        for line in file:
            if not line.strip():
                continue
            try:
                row = Row.from_record(read_json(line))
            except (ValueError, TypeError, AttributeError, HealthgymError):
                broken += 1
                continue
            rows[row.key] = row
    if broken:
        logger.warning("%s: %d broken line(s) left out; a kill cuts the last line short", path, broken)
    return list(rows.values())
