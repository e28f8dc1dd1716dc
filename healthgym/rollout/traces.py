"""Traces: finished episodes as JSON lines, written so that a kill costs at most the line it interrupts."""

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from healthgym.errors import HealthgymError
from healthgym.files import read_json
from healthgym.rollout.trajectory import Trajectory

logger = logging.getLogger(__name__)


class TraceWriter:
    """Appends trajectories to a file, one record a line; usable as `on_trajectory` of `collect`.

    Each record goes to the file in one write, so only the last line can be broken by a kill; the reader skips it, and
    a writer that continues such a file starts on a fresh line.

    Args:
        path: The file; its folder is made.
        every: Keeps each N-th group whole and drops the others: attempts of one task stay comparable.
        tokens: Whether records carry token ids and log-probabilities.
    """

    def __init__(self, path: str | Path, *, every: int = 1, tokens: bool = False) -> None:
        if every < 1:
            raise HealthgymError(f"a trace keeps every N-th group with N at least 1, got {every}")
        self.path, self.every, self.tokens = Path(path), every, tokens
        self.written = 0
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.write(self._file, b"\n")

    def __call__(self, trajectory: Trajectory) -> None:
        """Append one trajectory if its group is kept."""
        if trajectory.group % self.every == 0:
            self.write(trajectory)

    def write(self, trajectory: Trajectory) -> None:
        """Append one trajectory."""
        line = json.dumps(trajectory.to_record(tokens=self.tokens), ensure_ascii=False, default=str) + "\n"
        # Half a surrogate pair becomes its JSON escape: a remote model's odd text must not cost the episode.
        data = memoryview(line.encode("utf-8", "backslashreplace"))
        while data:
            data = data[os.write(self._file, data) :]
        self.written += 1

    def close(self) -> None:
        """Close the file; doing it twice changes nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> "TraceWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_traces(path: str | Path) -> list[Trajectory]:
    """Return the trajectories of a trace file. Broken lines are left out and warned of.

    Raises:
        HealthgymError: The file is missing, or a record is of another version.
    """
    return [Trajectory.from_record(record) for record in read_records(path)]


def read_records(path: str | Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a trace file as plain data. Broken lines are left out and warned of.

    Raises:
        HealthgymError: The file is missing.
    """
    path = Path(path)
    if not path.is_file():
        raise HealthgymError(f"No trace file {path}. Traces of a run lie in RUN_DIR/traces/")
    broken = 0
    with path.open("rb") as file:
        for line in file:
            try:
                record = read_json(line)
            except ValueError:
                broken += 1
                continue
            if isinstance(record, dict):
                yield record
            else:
                broken += 1
    if broken:
        logger.warning("%s: %d broken line(s) left out; a kill cuts the last line short", path, broken)
