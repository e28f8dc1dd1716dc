"""The folder of one run: its config, its metrics, its traces and its checkpoints, safe against a kill at any moment."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError
from healthgym.files import write_whole
from healthgym.rollout import Trajectory
from healthgym.training.config import RunConfig
from healthgym.training.loading import dump_config, load_config


class RunFolder:
    """Writes and reads `config.yaml`, `metrics.jsonl`, `traces/` and `checkpoints/` under one folder.

    Args:
        path: The folder; made when it does not exist.
        writes: False on processes other than the main one: they read only.
    """

    def __init__(self, path: Path, *, writes: bool = True) -> None:
        self.path, self.writes = path, writes
        self.checkpoints = path / "checkpoints"
        self.traces = path / "traces"
        self.metrics_file = path / "metrics.jsonl"
        if writes:
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            self.traces.mkdir(exist_ok=True)

    def claim(self, config: RunConfig) -> None:
        """Save the resolved config, or check that the folder belongs to the same one.

        Raises:
            ConfigError: The folder holds a run of another config; names what differs.
        """
        file = self.path / "config.yaml"
        if file.is_file():
            differing = _differences(
                load_config(file).model_dump(by_alias=True), config.model_dump(by_alias=True), prefix=""
            )
            if differing:
                raise ConfigError(
                    f"{self.path} holds a run of another config: {'; '.join(differing[:5])}. Continue with the same "
                    "recipe, or give another run folder."
                )
        elif self.writes:
            write_whole(file, dump_config(config))

    def rewind(self, step: int) -> None:
        """Drop metrics of steps after `step`, which the resumed run will make again."""
        if self.writes and self.metrics_file.is_file():
            kept = [row for row in self.metrics() if row["step"] <= step]
            write_whole(self.metrics_file, "".join(json.dumps(row) + "\n" for row in kept))

    def append(self, row: Mapping[str, Any]) -> None:
        """Append one step's metrics."""
        if self.writes:
            with self.metrics_file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        """Return all rows; a last line that a kill cut short is left out."""
        if not self.metrics_file.is_file():
            return []
        rows = []
        for line in self.metrics_file.read_text(encoding="utf-8").splitlines():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                break
        return rows

    def save_traces(self, name: str, trajectories: Sequence[Trajectory]) -> Path:
        """Write trajectories, without token ids, to `traces/<name>.jsonl`."""
        text = "".join(json.dumps(one.to_record(), default=str) + "\n" for one in trajectories)
        return write_whole(self.traces / f"{name}.jsonl", text)


def _differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str) -> list[str]:
    found = []
    for key in old.keys() | new.keys():
        before, after = old.get(key), new.get(key)
        name = f"{prefix}{key}"
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            found += _differences(before, after, f"{name}.")
        elif before != after:
            found.append(f"{name} was {before!r}, now {after!r}")
    return sorted(found)
