"""Reads the experiment's design: settings, arms and seeds, fixed in a file before anything ran."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from healthgym.errors import ConfigError, nearest
from healthgym.training.config import RunConfig
from healthgym.training.loading import make_config
from healthgym.training.presets import under

FILE = Path(__file__).with_name("experiment.yaml")


@dataclass(frozen=True, order=True)
class Run:
    """One training run of the experiment."""

    setting: str
    arm: str
    seed: int

    @property
    def name(self) -> str:
        """Relative path of the run, without suffix."""
        return f"{self.setting}/{self.arm}/seed{self.seed}"


class Design:
    """The experiment as its file states it."""

    def __init__(self, file: Path = FILE) -> None:
        self.content: Mapping[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))

    def runs(self, setting: str | None = None, arm: str | None = None, seed: int | None = None) -> list[Run]:
        """Return the runs, seed by seed, so that an experiment cut short has whole seeds.

        Raises:
            ConfigError: There is no such setting, arm or seed; names the nearest.
        """
        settings = self.content["settings"]
        _known("setting", setting, settings)
        every = [
            Run(name, one, number)
            for name, described in settings.items()
            for number in described["seeds"]
            for one in described["arms"]
        ]
        _known("arm", arm, {run.arm for run in every if setting in (None, run.setting)})
        _known("seed", seed, {run.seed for run in every if setting in (None, run.setting)})
        return [
            run
            for run in every
            if setting in (None, run.setting) and arm in (None, run.arm) and seed in (None, run.seed)
        ]

    def config(self, run: Run) -> RunConfig:
        """Return the config of a run: the shared values, then the setting's, then the arm's."""
        described = self.content["settings"][run.setting]
        values = under(self.content["shared"], described.get("values", {}))
        values = under(values, self.content["arms"][run.arm])
        return make_config(under(values, {"seed": run.seed}))

    def measured(self, setting: str) -> Mapping[str, int]:
        """Return how many tasks of each family are measured, by split."""
        return self.content["settings"][setting].get("measure", self.content["measure"])

    def start_config(self, run: Run) -> RunConfig:
        """Return the config that a run's start is made from: its own, or that of the one seed all of its setting begin at."""
        seed = self.content["settings"][run.setting].get("start_seed", run.seed)
        return self.config(Run(run.setting, run.arm, seed))

    def start_of(self, run: Run) -> str:
        """Return the name of the warm-started model that a run shares with all whose warm start is the same."""
        config = self.start_config(run)
        parts = config.model_dump(mode="json", include={"seed", "model", "env", "warm_start"})
        own = config.hint.level if config.hint else "process"
        level = (config.warm_start and config.warm_start.hint_level) or own
        return f"seed{config.seed}-{sha256(repr((parts, level)).encode()).hexdigest()[:8]}"


def config_digest(config: RunConfig) -> str:
    """Return the SHA-256 of what a config sets apart from the defaults, so that a new setting leaves results valid."""
    values = config.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _known(kind: str, value: Any, known: Any) -> None:
    if value is not None and value not in known:
        raise ConfigError(f"Unknown {kind} {value!r}.{nearest(str(value), map(str, known))}")
