"""What a proof found wrong: which task or tool, what happened, and what to do about it."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from healthgym.content import split_place
from healthgym.errors import HealthgymError

Kind = Literal["task", "tool", "attacker", "family"]
MAX_EXAMPLES = 3


@dataclass(kw_only=True)
class Failure:
    """One problem, with the first places where it was met and how often."""

    kind: Kind
    name: str
    what: str
    remedy: str
    count: int = 1
    examples: list[str] = field(default_factory=list)
    where: str = ""
    """File and line to mend."""

    def to_dict(self) -> dict[str, Any]:
        """Return the failure as JSON-like data."""
        return {
            "kind": self.kind,
            "name": self.name,
            "what": self.what,
            "where": self.where,
            "remedy": self.remedy,
            "count": self.count,
            "examples": list(self.examples),
        }


class FailureLog:
    """Collects failures; the same problem met again only raises its count."""

    def __init__(self) -> None:
        self._by_key: dict[tuple[str, str, str], Failure] = {}

    def add(
        self, kind: Kind, name: str, what: str, remedy: str, *, example: str = "", key: str = "", where: str = ""
    ) -> None:
        """Record a problem. `key` groups problems that differ in detail only; `what` itself does when it is empty."""
        found = self._by_key.get((kind, name, key or what))
        if found is None:
            found = self._by_key[kind, name, key or what] = Failure(
                kind=kind, name=name, what=what, remedy=remedy, count=0, where=where
            )
        found.count += 1
        if example and len(found.examples) < MAX_EXAMPLES:
            found.examples.append(example)

    def locate(self, place: Callable[[Kind, str], str]) -> None:
        """Give every failure that names no place yet the one that `place` finds for its kind and name."""
        for failure in self._by_key.values():
            failure.where = failure.where or place(failure.kind, failure.name)

    def to_list(self) -> list[dict[str, Any]]:
        """Return every failure as JSON-like data, in the order they were first met."""
        return [failure.to_dict() for failure in self._by_key.values()]


def describe(error: BaseException) -> str:
    """Return an exception as one line: type, message, and the file and line that raised it."""
    if isinstance(error, HealthgymError) and split_place(str(error))[0]:
        return split_place(str(error))[1]
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {str(error)[:400]}{where}"
