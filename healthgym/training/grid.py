"""A grid of runs: one recipe under several arms and seeds, one folder a run, continued where it was left."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from healthgym.errors import ConfigError, HealthgymError, RunStopped, nearest
from healthgym.files import copy_whole, write_whole
from healthgym.training.config import RunConfig
from healthgym.training.loading import make_config, recipe_values
from healthgym.training.presets import under
from healthgym.training.run_folder import RunFolder
from healthgym.training.startup import check_settings

REPORT = "grid.json"
Launch = Callable[[RunConfig, Path], Mapping[str, Any]]
"""Runs a config in a folder to its end and returns the last step's metrics."""
Prepare = Callable[[RunConfig, Path], Path]
"""Makes the model a config starts from in a folder and returns where it lies; a folder that is absent means none is needed."""


@dataclass(frozen=True)
class GridRun:
    """One run of a grid."""

    arm: str
    seed: int
    folder: Path
    config: RunConfig
    start: str
    """Runs with the same name here begin with the very same model."""
    start_config: RunConfig
    """What the starting model is made from."""

    def to_dict(self) -> dict[str, Any]:
        """Return the plan of the run as JSON-like data."""
        return {
            "arm": self.arm,
            "seed": self.seed,
            "run_dir": str(self.folder),
            "start": self.start,
            "is_finished": is_finished(self.folder),
            "config": self.config.model_dump(by_alias=True, mode="json"),
        }


@cache
def grids() -> Mapping[str, Any]:
    """Return the grids by name: {about, arms: {name: settings}}."""
    loaded: Mapping[str, Any] = yaml.safe_load((files(__package__) / "grids.yaml").read_text(encoding="utf-8"))
    return loaded


def plan_grid(
    recipe: Path,
    name: str,
    folder: Path,
    *,
    seeds: Sequence[int] = (0,),
    overrides: Sequence[str] = (),
    arms: Sequence[str] = (),
) -> list[GridRun]:
    """Return the runs of a grid over a recipe, seed by seed, so that a grid cut short still compares whole seeds.

    Args:
        recipe: YAML file.
        name: One of `grids()`.
        folder: Holds one folder a run, `ARM/seed-N`.
        seeds: One run of every arm for each.
        overrides: `a.b=c` settings that win over arms.
        arms: Only these; empty takes all.

    Raises:
        ConfigError: The grid or an arm is unknown, or an arm does not go with the recipe; says which.
    """
    if name not in grids():
        raise ConfigError(f"No grid {name!r}.{nearest(name, grids())} Known: {', '.join(grids())}")
    grid, base = grids()[name], recipe_values(recipe)
    plain = make_config(base, overrides, source=str(recipe))
    for arm in arms:
        if arm not in grid["arms"]:
            raise ConfigError(f"Grid {name} has no arm {arm!r}.{nearest(arm, grid['arms'])}")
    runs = []
    for seed in seeds:
        for arm in arms or grid["arms"]:
            changes = grid["arms"][arm]
            config = make_config(
                under(base, {**changes, "seed": seed}), overrides, source=f"{recipe}, arm {arm} of grid {name}"
            )
            try:
                check_settings(config)
            except ConfigError as error:
                raise ConfigError(f"arm {arm} of grid {name}: {error}") from None
            if grid.get("needs_teacher") and config.teacher is None:
                raise ConfigError(
                    f"arm {arm} of grid {name} needs a teacher, and {recipe} has none: take preset tt_opd"
                )
            donor = config if grid.get("own_starts") and config.hint is not None else _at_seed(plain, config)
            target = folder / arm / f"seed-{config.seed}"
            runs.append(GridRun(arm, config.seed, target, config, _start_name(donor), donor))
    return runs


def run_grid(
    runs: Sequence[GridRun],
    folder: Path,
    *,
    launch: Launch,
    prepare: Prepare,
    tell: Callable[[str], None] = lambda line: None,
) -> list[dict[str, Any]]:
    """Make the runs one after another, skip those that are finished, and keep `grid.json` up to date.

    A run that healthgym refuses or gives up is reported with its message and does not hold up the others; the same call
    tries it again.

    Args:
        runs: From `plan_grid`.
        folder: Receives `grid.json` and `starts/`.
        launch: Makes one run.
        prepare: Makes a starting model, once for all the runs that share it.
        tell: Told what happens.

    Returns:
        One {arm, seed, run_dir, status, steps, metrics} a run, status `finished` or `failed`.

    Raises:
        RunStopped: A signal ended the run at hand, which is saved; the same call goes on with it.
    """
    report: list[dict[str, Any]] = []
    for place, run in enumerate(runs, start=1):
        label = f"[{place}/{len(runs)}] {run.arm}, seed {run.seed}"
        try:
            if is_finished(run.folder):
                RunFolder(run.folder, writes=False).claim(run.config)
                tell(f"{label}: already finished")
                metrics = _last_row(run.folder)
            else:
                tell(f"{label}: {run.folder}")
                _share_start(run, folder, prepare)
                metrics = dict(launch(run.config, run.folder))
            outcome: dict[str, Any] = {"status": "finished", "steps": metrics.get("step", 0), "metrics": metrics}
        except RunStopped as stopped:  # whoever stops a run of a grid means the grid
            done = sum(line["status"] == "finished" for line in report)
            raise RunStopped(
                f"{label}: {stopped} It then goes on with the grid, of which {done} of {len(runs)} runs are finished.",
                exit_code=stopped.exit_code,
            ) from None
        except HealthgymError as error:
            tell(f"{label}: {error}")
            outcome = {"status": "failed", "error": str(error)}
        report.append({"arm": run.arm, "seed": run.seed, "run_dir": str(run.folder), **outcome})
        _write(folder / REPORT, {"runs": report, "planned": len(runs)})
    return report


def is_finished(folder: Path) -> bool:
    """Say whether a run came to its end: the trained model is written last, and whole."""
    return (folder / "model").is_dir()


def _at_seed(plain: RunConfig, config: RunConfig) -> RunConfig:
    """Return the recipe itself with an arm's seed, and with its model, tasks and warm start."""
    shared = {name: getattr(config, name) for name in ("seed", "model", "env", "warm_start", "rollout")}
    return plain.model_copy(update=shared)


def _start_name(config: RunConfig) -> str:
    """Name what decides the starting model: the seed, the model, the tasks, and the hints the warm start teaches."""
    settings = config.model_dump(by_alias=True, mode="json")
    parts = {key: settings[key] for key in ("seed", "model", "env", "warm_start", "rollout")}
    parts["env"] = {**parts["env"], "curriculum": None}  # chooses among tasks after the start
    parts["level"] = config.hint.level if config.hint is not None else "process"
    digest = blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=6).hexdigest()
    return f"seed-{config.seed}-{digest}"


def _share_start(run: GridRun, folder: Path, prepare: Prepare) -> None:
    """Put the starting model that runs of this start share into the run's folder."""
    target = run.folder / "start"
    if target.is_dir():
        return
    made = prepare(run.start_config, folder / "starts" / run.start)
    if made.is_dir():
        copy_whole(made, target)


def _last_row(folder: Path) -> dict[str, Any]:
    rows = RunFolder(folder, writes=False).metrics()
    return rows[-1] if rows else {}


def _write(file: Path, content: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, json.dumps(content, indent=1))
