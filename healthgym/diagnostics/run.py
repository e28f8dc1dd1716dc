"""A run's folder as it is, whole or half-written: metrics by step, traces, evaluations, config and versions."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yaml

from healthgym.diagnostics.names import FAMILIES, NAMES
from healthgym.errors import HealthgymError
from healthgym.files import write_whole

METRICS, TRACES, EVALUATIONS, CONFIG, VERSIONS = (
    "metrics.jsonl", "traces", "evaluations.jsonl", "config.yaml", "versions.json",
)  # fmt: skip


class RunFolderError(HealthgymError):
    """A run folder that is missing or holds nothing to read."""


@dataclass(frozen=True)
class Series:
    """One metric over the steps that logged it; values are finite."""

    steps: tuple[int, ...] = ()
    values: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    def __bool__(self) -> bool:
        return bool(self.values)


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a run's folder holds. `notes` say what was missing or damaged."""

    path: Path
    rows: tuple[Mapping[str, Any], ...] = ()
    """Metrics by step, in order; a step that was made again after a resume appears once, as it was made last."""
    evaluations: tuple[Mapping[str, Any], ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    traces: tuple[Path, ...] = ()
    """Trace files, oldest first."""
    notes: tuple[str, ...] = ()

    @classmethod
    def load(cls, path: str | Path) -> "Run":
        """Read a run's folder.

        Raises:
            RunFolderError: there is no such folder, or it holds neither metrics, traces nor evaluations.
        """
        folder = Path(path)
        if not folder.is_dir():
            what = "is a file" if folder.exists() else "does not exist"
            raise RunFolderError(f"{folder} {what}; give the folder that training printed as run_dir")
        notes: list[str] = []
        rows = _by_step(read_lines(folder / METRICS, notes))
        evaluations = tuple(read_lines(folder / EVALUATIONS, notes)) if (folder / EVALUATIONS).is_file() else ()
        traces = tuple(sorted((folder / TRACES).glob("*.jsonl"), key=_trace_order))
        if not rows and not traces and not evaluations:
            raise RunFolderError(
                f"{folder} holds no run: no finished line in {METRICS}, no {TRACES}/*.jsonl and no {EVALUATIONS}. "
                "Train first, for example: healthgym train RECIPE.yaml"
            )
        return cls(
            path=folder,
            rows=rows,
            evaluations=evaluations,
            config=_read_config(folder / CONFIG, notes),
            versions=_read_versions(folder / VERSIONS, notes),
            traces=traces,
            notes=tuple(notes),
        )

    def series(self, quantity: str) -> Series:
        """Return a quantity of `NAMES`, or else the metric of exactly this name."""
        for name in NAMES.get(quantity, (quantity,)):
            found = self._metric(name)
            if found:
                return found
        return Series()

    def family(self, group: str) -> dict[str, Series]:
        """Return the curves of a group of `FAMILIES` by label. Steps that left a label out count as 0 for tools."""
        for pattern in FAMILIES[group]:
            labels = {m[1]: key for row in self.rows for key in row if (m := re.fullmatch(pattern, key))}
            if labels:
                fill = 0.0 if group in ("tools", "stops") else None
                return {label: self._metric(key, fill) for label, key in labels.items()}
        return {}

    def last(self, quantity: str) -> float | None:
        """Return the last logged value of a quantity, or None."""
        found = self.series(quantity)
        return found.values[-1] if found else None

    def non_finite(self) -> tuple[int, str] | None:
        """Return the first step and metric that was NaN or infinite, or None."""
        for row in self.rows:
            for name, value in row.items():
                if isinstance(value, float) and not math.isfinite(value):
                    return int(row["step"]), name
        return None

    def _metric(self, name: str, fill: float | None = None) -> Series:
        pairs = [
            (int(row["step"]), float(value))
            for row in self.rows
            if (value := row.get(name, fill)) is not None and not isinstance(value, str) and math.isfinite(value)
        ]
        return Series(tuple(step for step, _ in pairs), tuple(value for _, value in pairs))


def append_metrics(run_dir: str | Path, step: int, metrics: Mapping[str, float]) -> None:
    """Append one step's metrics to RUN_DIR/metrics.jsonl as one JSON object with "step" first."""
    with (Path(run_dir) / METRICS).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"step": step, **metrics}) + "\n")


def append_evaluation(run_dir: str | Path, label: str, result: Mapping[str, Any]) -> None:
    """Append one evaluation to RUN_DIR/evaluations.jsonl; one of the same label is replaced, as when a resumed run repeats it.

    Args:
        run_dir: The run's folder.
        label: What was evaluated: "warm start", "after step 60".
        result: At least success, ci (low, high) and n; see `healthgym.evaluation.EvalResult.to_dict`.
    """
    path = Path(run_dir) / EVALUATIONS
    line = json.dumps({"label": label, **result})
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
    at = next((i for i, text in enumerate(lines) if _label(text) == label), len(lines))
    lines[at : at + 1] = [line]
    write_whole(path, "\n".join(lines) + "\n")


def _label(line: str) -> str | None:
    """Return the label of one line of evaluations; None where it is damaged, as by a kill in mid-write."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError:
        return None
    return row.get("label") if isinstance(row, dict) else None


def save_versions(
    run_dir: str | Path, packages: tuple[str, ...] = ("healthgym", "torch", "transformers", "trl", "peft")
) -> None:
    """Write the versions of the installed packages to RUN_DIR/versions.json."""
    found = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    (Path(run_dir) / VERSIONS).write_text(json.dumps(found, indent=1), encoding="utf-8")


def read_lines(path: Path, notes: list[str]) -> list[dict[str, Any]]:
    """Return the JSON objects of a file, one a line; damaged lines are left out and noted."""
    if not path.is_file():
        notes.append(f"{path.name} is missing")
        return []
    rows, damaged = [], 0
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):  # texts may hold other line ends
        try:
            value = json.loads(line) if line.strip() else {}
        except json.JSONDecodeError:
            value = None
        if isinstance(value, dict):
            rows.extend([value] if value else [])
        else:
            damaged += 1
    if damaged:
        notes.append(f"{path.name}: {damaged} line(s) could not be read, probably cut off when the run was stopped")
    return rows


def _by_step(rows: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Return rows in order of their step; a step logged in several rows is merged, later values winning."""
    by_step: dict[int, dict[str, Any]] = {}
    for row in rows:
        step = row.get("step")
        if isinstance(step, int | float) and math.isfinite(step):
            by_step.setdefault(int(step), {}).update(row)
    return tuple(by_step[step] for step in sorted(by_step))


def _read_config(path: Path, notes: list[str]) -> Mapping[str, Any]:
    if not path.is_file():
        notes.append(f"{path.name} is missing")
        return {}
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError:
        notes.append(f"{path.name} is not valid YAML")
        return {}
    return config if isinstance(config, dict) else {}


def _read_versions(path: Path, notes: list[str]) -> Mapping[str, str]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError:
        notes.append(f"{path.name} could not be read")
        return {}
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else {}


def _trace_order(path: Path) -> tuple[int, str]:
    numbers = re.findall(r"\d+", path.stem)
    return (int(numbers[-1]) if numbers else -1, path.stem)
