"""What an import did: what was kept, what was refused and why, what was left out."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Refusal:
    """One entry that was not imported."""

    place: str
    """File and line, or file and entry."""
    kind: str
    """A short name, by which refusals are counted."""
    reason: str


@dataclass
class ImportLog:
    """Gathers what happens while a format is converted."""

    refused: list[Refusal] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """Parts of kept entries that were not used, by what they were."""
    notes: list[str] = field(default_factory=list)

    def refuse(self, place: str, kind: str, reason: str) -> None:
        """Record an entry that is not imported."""
        self.refused.append(Refusal(place, kind, reason))


@dataclass(frozen=True)
class ImportReport:
    """The outcome of one import."""

    out: Path
    format: str
    tasks: Mapping[str, Mapping[str, int]]
    """Tasks by family and split."""
    log: ImportLog
    sources: tuple[Mapping[str, Any], ...]

    @property
    def total(self) -> int:
        """All tasks."""
        return sum(sum(counts.values()) for counts in self.tasks.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-like data."""
        kinds = Counter(each.kind for each in self.log.refused)
        return {
            "out": str(self.out),
            "format": self.format,
            "tasks": {name: dict(counts) for name, counts in self.tasks.items()},
            "total": self.total,
            "refused": len(self.log.refused),
            "refused_by_kind": dict(sorted(kinds.items())),
            "refusals": [{"place": each.place, "kind": each.kind, "reason": each.reason} for each in self.log.refused],
            "left_out": dict(sorted(self.log.left_out.items())),
            "notes": list(self.log.notes),
            "sources": [dict(each) for each in self.sources],
        }
