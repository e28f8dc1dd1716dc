"""One patient's rows as dictionaries, and the few things every check does with them."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

Row = dict[str, Any]
Fields = Mapping[str, Any]


class PatientRows:
    """Reads a table's rows once and keeps them while the patient is looked at."""

    def __init__(self, read: Callable[[str], list[Row]]) -> None:
        self._read = read
        self._kept: dict[str, list[Row]] = {}

    def __getitem__(self, table: str) -> list[Row]:
        if table not in self._kept:
            self._kept[table] = self._read(table)
        return self._kept[table]


def moment(text: str) -> datetime:
    """Return a MIMIC-III time."""
    return datetime.fromisoformat(text)


def is_within(text: str | None, start: str, end: str, *, closed: bool = False) -> bool:
    """Say whether a time lies in [start, end), or in [start, end] when closed."""
    if text is None:
        return False
    when, last = moment(text), moment(end)
    return moment(start) <= when and (when <= last if closed else when < last)


def covered_seconds(spans: Iterable[tuple[datetime, datetime]]) -> float:
    """Return how many seconds lie in at least one span, by counting how many are open."""
    events = sorted(
        edge for start, end in spans if end > start for edge in ((start.timestamp(), 1), (end.timestamp(), -1))
    )
    total, opened, since = 0.0, 0, 0.0
    for at, change in events:
        if opened:
            total += at - since
        opened, since = opened + change, at
    return total


def plain_number(text: str | None) -> float | None:
    """Return the number of a text of digits and at most a point, None for any other text."""
    if text is None or not text or not set(text) <= set("0123456789.") or not text[0].isdigit():
        return None
    try:
        return float(text)
    except ValueError:
        return None
