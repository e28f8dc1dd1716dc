"""The folder of one evaluation: whose it is, its rows and traces, and a lock for the process that writes them."""

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError
from healthgym.evaluation.identity import differences, machine
from healthgym.evaluation.rows import Row, RowFile, read_rows
from healthgym.files import read_json, write_whole
from healthgym.locks import Held, release_lock, take_lock
from healthgym.rollout.traces import TraceWriter
from healthgym.rollout.trajectory import Trajectory

logger = logging.getLogger(__name__)

LOCK, IDENTITY, ROWS, TRACES, RESULT = "eval.lock", "run.json", "rows.jsonl", "traces.jsonl", "result.json"


class EvaluationFolder:
    """Reads and writes the files of one evaluation.

    Args:
        path: The folder.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._rows: RowFile | None = None
        self._traces: TraceWriter | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder, so that no other process writes into it; the kernel lets go however this one ends.

        Raises:
            ConfigError: Another process holds it, or it cannot be made; names holder and remedy.
        """
        lock = self._take()
        try:
            yield
        finally:
            self.close()
            release_lock(lock)

    @contextmanager
    def set_aside(self) -> Iterator[None]:
        """Hold the folder after moving an earlier one of that name out of the way, whole, to NAME.old-1, -2, ...

        Raises:
            ConfigError: Another process holds the folder, or it holds something else than an evaluation.
        """
        with self.held():
            path, number = self.path.resolve(), 1
            self.path = path  # "." would go along with the folder that is moved
            there = sorted(one.name for one in path.iterdir() if one.name != LOCK)
            if there and not {IDENTITY, ROWS} & set(there):
                raise ConfigError(
                    f"{self.path} holds no evaluation but other files, which --restart does not move away: "
                    f"{', '.join(there[:5])}. Give another folder with --out."
                )
            while (aside := path.with_name(f"{path.name}.old-{number}")).exists():
                number += 1
            if there:
                path.rename(aside)
        with self.held():
            yield

    def claim(self, identity: Mapping[str, Any], notes: Mapping[str, Any] | None = None) -> None:
        """Write whose rows these are, or check that the rows there are of the same evaluation.

        Args:
            identity: What rows depend on, see `identity_of`.
            notes: What else to write down the first time, such as where the data lies.

        Raises:
            ConfigError: They are not, naming each difference; or the folder holds something else.
        """
        file = self.path / IDENTITY
        if not file.is_file():
            others = sorted(path.name for path in self.path.iterdir() if not _may_lie_about(path.name))
            if others:
                raise ConfigError(
                    f"{self.path} holds no evaluation ({IDENTITY} is missing) but other files: {', '.join(others[:5])}. "
                    "Give an empty or new folder with --out."
                )
            self._write_notes(identity, notes)
            return
        notes_there = self.notes()
        if reason := notes_there.get("distrusted"):
            raise ConfigError(
                f"The rows in {self.path} are not to be trusted: {reason} Set them aside and begin anew with --restart."
            )
        found = differences(notes_there["identity"], identity)
        if found and not self.rows():  # nothing was made under the other settings
            self._write_notes(identity, notes)
        elif found:
            shown = "; ".join(found[:6]) + (f"; and {len(found) - 6} more" if len(found) > 6 else "")
            raise ConfigError(
                f"{self.path} holds an evaluation whose rows were made otherwise: {shown}. Ask for the same again to go "
                "on with it, give another folder with --out, or set it aside and begin anew with --restart."
            )

    def _write_notes(self, identity: Mapping[str, Any], notes: Mapping[str, Any] | None) -> None:
        started = datetime.now(UTC).isoformat(timespec="seconds")
        told = {"identity": identity, **(notes or {}), "machine": machine(), "started": started}
        write_whole(self.path / IDENTITY, json.dumps(told, indent=1, ensure_ascii=False, default=str) + "\n")

    def notes(self) -> dict[str, Any]:
        """Return what `run.json` holds. Raises ConfigError when it cannot be read."""
        file = self.path / IDENTITY
        try:
            found = read_json(file.read_bytes())
        except FileNotFoundError:
            raise ConfigError(f"{self.path} holds no evaluation: {IDENTITY} is missing") from None
        except ValueError as error:
            found, reason = None, str(error)
        else:
            reason = "it holds no whole identity"
        if not isinstance(found, dict) or not _is_identity(found.get("identity")):
            raise ConfigError(
                f"{file} cannot be read ({reason}). Begin anew with --restart, which sets the folder aside."
            )
        return found

    def identity(self) -> dict[str, Any]:
        """Return the identity in `run.json`. Raises ConfigError when it cannot be read."""
        found: dict[str, Any] = self.notes()["identity"]
        return found

    def distrust(self, reason: str) -> None:
        """Write down why the rows must not be gone on with; `claim` then refuses them."""
        told = {**self.notes(), "distrusted": reason}
        write_whole(self.path / IDENTITY, json.dumps(told, indent=1, ensure_ascii=False, default=str) + "\n")

    def rows(self) -> list[Row]:
        """Return the rows so far, the last of each key."""
        return read_rows(self.path / ROWS) if (self.path / ROWS).is_file() else []

    def keep(self, row: Row, trajectory: Trajectory | None = None) -> None:
        """Append a row, after its trace: a row that is there has its trace."""
        if self._rows is None:
            self._rows = RowFile(self.path / ROWS)
        if trajectory is not None:
            if self._traces is None:
                self._traces = TraceWriter(self.path / TRACES)
            named = {**trajectory.extra, "item": row.id, "attempt": row.attempt}
            self._traces.write(replace(trajectory, extra=named))
        self._rows.append(row)

    def result(self) -> dict[str, Any]:
        """Return what `result.json` holds; empty when there is none yet, or it cannot be read: rows are what counts."""
        file = self.path / RESULT
        try:
            found = read_json(file.read_bytes()) if file.is_file() else {}
        except ValueError:
            found = None
        if not isinstance(found, dict):
            logger.warning("%s cannot be read and is made anew from the rows", file)
            return {}
        return found

    def write_result(self, record: Mapping[str, Any], name: str = RESULT) -> Path:
        """Write a result, whole or not at all."""
        return write_whole(self.path / name, json.dumps(record, indent=1, ensure_ascii=False, default=str) + "\n")

    def close(self) -> None:
        """Close the files; doing it twice changes nothing."""
        for file in (self._rows, self._traces):
            if file is not None:
                file.close()
        self._rows = self._traces = None

    def _take(self) -> int:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            return take_lock(self.path / LOCK)
        except OSError as error:
            raise ConfigError(
                f"The folder {self.path} cannot be used: {error.strerror}. Give another one with --out."
            ) from None
        except Held as holder:
            raise ConfigError(
                f"Another evaluation writes into {self.path} ({holder}). Wait for it or stop it, or give another folder "
                "with --out."
            ) from None


def _is_identity(found: Any) -> bool:
    """Say whether this has the parts that whoever reads an identity relies on."""
    if not isinstance(found, dict):
        return False
    kinds = {"benchmark": str, "scorer": str, "items": str, "settings": dict, "candidate": dict}
    return all(isinstance(found.get(name), kind) for name, kind in kinds.items()) and "mode" in found["settings"]


def _may_lie_about(name: str) -> bool:
    """Say whether a folder with this file is still a new one: the lock, and what a kill left of writing run.json."""
    return name == LOCK or (name.startswith(f".{IDENTITY}.") and name.endswith(".writing"))
