"""A stored evaluation: what its folder says of itself, for reports and comparisons."""

import json
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError
from healthgym.evaluation.folder import IDENTITY, RESULT, ROWS
from healthgym.evaluation.items import Item
from healthgym.evaluation.rows import Row, read_rows
from healthgym.files import read_json, write_whole

ITEMS = "items.jsonl"
"""Contents of the items that were asked, so that a report can show questions."""
RESCORED = "rows_rescored"
"""Rows that were scored again; a second time their name ends in -2, and so on."""
_OF_A_RESULT: tuple[tuple[tuple[str, ...], Any], ...] = (
    (("suite", "scorer", "engine"), str),
    (("n", "n_all"), int),
    (("score", "score_all"), int | float | None),
    (("ci", "ci_all"), list | None),
    (
        (
            "counts",
            "strata",
            "scores",
            "means",
            "required_n",
            "hashes",
            "pass_at_k",
            "pass_hat_k",
            "sampling",
            "settings",
        ),
        dict,
    ),
    (("floors", "warnings", "seeds"), list),
)
"""What pages and tables show of a result, by kind."""
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
    def load(cls, path: str | Path, *, rescored: bool = False) -> "Stored":
        """Read a folder.

        Args:
            path: The folder.
            rescored: Take the rows as they were scored again last, where they were.

        Raises:
            ConfigError: It is missing, holds no evaluation, or a file in it cannot be read; says what to do.
        """
        folder = Path(path)
        if not is_evaluation(folder):
            raise ConfigError(_why_not(folder))
        identity = _read(folder / IDENTITY).get("identity")
        identity = identity if isinstance(identity, dict) else {}
        rows, result = _last_rescored(folder) if rescored else (ROWS, RESULT)
        told = _read(folder / result)
        if told and result == RESULT and (wrong := _lacking(told)):
            raise ConfigError(
                f"{folder / result} is no whole result ({wrong} is missing or of another kind); move it away and run "
                "healthgym eval once more"
            )
        if rows != ROWS and "scorer" in told:
            identity = {**identity, "scorer": told["scorer"]}
        name = folder.resolve().name
        return cls(path=folder, name=name, rows=tuple(read_rows(folder / rows)), identity=identity, result=told)

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


def has_begun(folder: str | Path) -> bool:
    """Say whether a folder is that of an evaluation that ended before its first row."""
    return (Path(folder) / IDENTITY).is_file() and not is_evaluation(folder)


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


def write_items(folder: Path, items: Iterable[Item], ids: Container[str]) -> Path:
    """Write the contents of the items with these ids into an evaluation's folder, one a line."""
    lines = [
        json.dumps({"id": item.id, "content": item.content}, ensure_ascii=False, default=str) + "\n"
        for item in items
        if item.id in ids
    ]
    return write_whole(folder / ITEMS, "".join(lines).encode("utf-8", "replace").decode("utf-8"))


def read_items(folder: Path) -> dict[str, Any]:
    """Return the contents of items by id, as far as the folder holds them; broken lines are left out."""
    found: dict[str, Any] = {}
    file = folder / ITEMS
    for line in file.read_bytes().split(b"\n") if file.is_file() else ():
        try:
            record = read_json(line)
            found[record["id"]] = record["content"]
        except (ValueError, KeyError, TypeError):
            continue
    return found


def _last_rescored(folder: Path) -> tuple[str, str]:
    """Return the names of the rows that were scored again last, and of their result; of the first where none were."""
    marks = [path.stem.removeprefix(RESCORED) for path in folder.glob(f"{RESCORED}*.jsonl")]
    if not marks:
        return ROWS, RESULT
    mark = max(marks, key=lambda mark: int(mark.lstrip("-")) if mark.lstrip("-").isdigit() else 1)
    return f"{RESCORED}{mark}.jsonl", f"result_rescored{mark}.json"


def _why_not(folder: Path) -> str:
    if not folder.exists():
        return f"{folder} does not exist; give the folder that healthgym eval printed"
    if is_training_run(folder):
        return (
            f"{folder} is a training run, not an evaluation. Lay training runs beside each other with: "
            f"healthgym report --compare RUN_DIR RUN_DIR. To evaluate one: healthgym eval {folder} --suite gym"
        )
    return f"{folder} holds no evaluation: {ROWS} is missing. Give the folder that healthgym eval printed"


def _lacking(result: Mapping[str, Any]) -> str | None:
    """Return the name of a part that a result lacks, or that is of another kind; None when all is there."""
    for names, kind in _OF_A_RESULT:
        for name in names:
            if name not in result or not isinstance(result[name], kind):
                return name
    return None


def _read(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        found = read_json(file.read_bytes())
    except ValueError as error:
        raise ConfigError(f"{file} cannot be read ({error}); move it away and run healthgym eval once more") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{file} holds no JSON object; move it away and run healthgym eval once more")
    return found
