"""A stored evaluation: what its folder says of itself, for reports and comparisons."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError
from healthgym.evaluation.rows import Row, read_rows

IDENTITY, ROWS, TRACES, RESULT = "run.json", "rows.jsonl", "traces.jsonl", "result.json"
OF_TRAINING = ("metrics.jsonl", "evaluations.jsonl", "config.yaml")
"""Files by which the folder of a training run is known."""


@dataclass(frozen=True, kw_only=True)
class Stored:
    """An evaluation read from its folder.

    name: of the folder.
    identity: what its rows depend on, from run.json; empty when that is missing.
    result: what result.json holds; empty when the run was cut before it.
    rows: the last of each key.
    """

    path: Path
    name: str
    rows: tuple[Row, ...]
    identity: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | Path) -> "Stored":
        """Read a folder.

        Raises:
            ConfigError: It is missing, holds no evaluation, or a file in it cannot be read; says what to do.
        """
        folder = Path(path)
        if not is_evaluation(folder):
            raise ConfigError(_why_not(folder))
        told = _read(folder / IDENTITY)
        identity = told.get("identity")
        return cls(
            path=folder,
            name=folder.resolve().name,
            rows=tuple(read_rows(folder / ROWS)),
            identity=identity if isinstance(identity, dict) else {},
            result=_read(folder / RESULT),
        )

    @property
    def suite(self) -> str:
        """The benchmark's name."""
        return str(self.identity.get("benchmark") or self.result.get("suite") or "")

    @property
    def mode(self) -> str:
        """agentic or text."""
        settings = self.identity.get("settings")
        asked = settings.get("mode") if isinstance(settings, dict) else None
        return str(asked or self.result.get("mode") or "")


def is_evaluation(folder: str | Path) -> bool:
    """Say whether a folder holds an evaluation's rows."""
    return (Path(folder) / ROWS).is_file()


def evaluations_in(folder: str | Path) -> list[Path]:
    """Return the folder itself when it is an evaluation, else those directly below it, by name."""
    folder = Path(folder)
    if is_evaluation(folder):
        return [folder]
    below = sorted(path for path in folder.iterdir() if is_evaluation(path)) if folder.is_dir() else []
    if not below:
        raise ConfigError(_why_not(folder))
    return below


def is_training_run(folder: str | Path) -> bool:
    """Say whether a folder looks like that of a training run."""
    return any((Path(folder) / name).is_file() for name in OF_TRAINING)


def _why_not(folder: Path) -> str:
    if not folder.exists():
        return f"{folder} does not exist; give the folder that healthgym eval printed"
    if is_training_run(folder):
        return (
            f"{folder} is a training run, not an evaluation. Lay training runs beside each other with: "
            f"healthgym report --compare RUN_DIR RUN_DIR. To evaluate one: healthgym eval {folder} --suite gym"
        )
    return f"{folder} holds no evaluation: {ROWS} is missing. Give the folder that healthgym eval printed"


def _read(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(f"{file} cannot be read ({error}); move it away and run healthgym eval once more") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{file} holds no JSON object; move it away and run healthgym eval once more")
    return found
