"""How far a build is: written after every batch, so that the same command goes on from there after a kill."""

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from healthgym.retrieval.manifest import checksum_of

JOURNAL = "journal.json"
STAGES = ("read", "dedupe", "encode", "dense", "lexical", "check", "publish")
EXAMPLES = 5
"""Reasons of skipped rows that are kept."""


@dataclass(kw_only=True)
class Journal:
    """State of a build between two batches."""

    stage: str = "read"
    part: int = 0
    """Number of the part of the corpora that is being read."""

    rows: int = 0
    """Rows read of that part."""

    passages: int = 0
    """Passages read."""

    bytes: int = 0
    """Size of the file of passages read, where the next one goes."""

    skipped: int = 0
    """Rows left out because they could not be used."""

    examples: list[str] = field(default_factory=list)
    """Why the first of them could not."""

    cut: int = 0
    """Rows, or pieces of documents, cut into several passages."""

    kept: int = 0
    """Passages in the index to be, those of an index that is added to included."""

    duplicates: dict[str, int] = field(default_factory=dict)
    """Passages left out by kind: 'exact', 'near'."""

    sources: dict[str, int] = field(default_factory=dict)
    licences: dict[str, int] = field(default_factory=dict)
    encoded: int = 0
    """Vectors in the file of vectors."""

    index: str = ""
    """Kind of the dense index that was built."""

    @property
    def is_new(self) -> bool:
        """Whether nothing is done yet."""
        return self.stage == "read" and not self.part and not self.rows

    def skip(self, reason: str) -> None:
        """Count a row that cannot be used."""
        self.skipped += 1
        self.examples = [*self.examples, reason][:EXAMPLES]

    def save(self, folder: Path) -> None:
        """Write the journal; a reader sees the old one or the new one, whole.

        Neither it nor what it counts is forced to the disk: a kill loses nothing that was handed to the system. After a
        power cut the files may be shorter than the journal says; the next build then says so and removes them.
        """
        values = asdict(self)
        draft = folder / f".{JOURNAL}"
        draft.write_text(json.dumps({**values, "checksum": checksum_of(values)}), encoding="utf-8")
        draft.replace(folder / JOURNAL)

    @classmethod
    def load(cls, folder: Path) -> "Journal":
        """Read the journal of a folder; a new one when there is none or it is damaged."""
        try:
            values: dict[str, Any] = json.loads((folder / JOURNAL).read_bytes())
            checksum = values.pop("checksum")
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            return cls()
        whole = checksum == checksum_of(values) and set(values) == {each.name for each in fields(cls)}
        return cls(**values) if whole else cls()
