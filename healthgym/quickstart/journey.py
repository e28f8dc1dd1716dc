"""Warm start, two ways of training from it, and the same held-out measurement of all three."""

import json
import time
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from healthgym.errors import ConfigError, MissingDependency
from healthgym.files import copy_whole, write_whole
from healthgym.quickstart.side_by_side import side_by_side

if TYPE_CHECKING:
    from healthgym.training.config import RunConfig

ARMS: Mapping[str, Mapping[str, Any]] = {
    "grpo_cosine": {},
    # A teacher that follows within a short run, and a weight that falls to zero in it.
    "tt_opd": {
        "teacher": {"ema_decay": 0.9, "update_every": 1},
        "lambda": {"start": 0.3, "shape": "cosine"},
        "turns": {"start": 2, "grow_every": 10, "max": 8},
        "hint": {"level": "process", "probe_tasks": 24},
    },
}
"""The arms of the comparison: preset, and what it changes."""
EVAL_SPLIT, EVAL_TASKS = "test", 256
Tell = Callable[[str], None]


def quickstart(out: Path, *, seed: int = 0, tell: Tell = lambda line: None) -> dict[str, Any]:
    """Run the journey in folder `out` and return the table's rows by name, the seconds it took and the report's path.

    What is finished is kept: the same call after an interruption goes on where it stopped.

    Args:
        out: Folder of the runs.
        seed: Seeds model, demonstrations, order of tasks and sampling.
        tell: Told what is being done, a line at a time.

    Raises:
        MissingDependency: the 'train' extra is not installed.
    """
    try:
        import torch
    except ModuleNotFoundError as error:
        raise MissingDependency.extra("the quickstart", "train") from error
    started = time.monotonic()
    # Matrices this small gain nothing from a second thread, and lose much when another program wants the core.
    torch.set_num_threads(1)
    results = _Results(out / "quickstart.json", seed)
    configs = {name: arm_config(name, seed) for name in ARMS}
    start = _warm_start(configs, out, tell)
    if "warm_start" not in results.rows:
        row = _measured("warm_start", start, configs["grpo_cosine"], tell)
        results.keep({"warm_start": {**row, "hints_fired": 0, "teacher_updates": 0}})
    left = [name for name in ARMS if name not in results.rows]
    results.keep(side_by_side(run_arm, left, seed, out, tell=tell))
    results.add_seconds(time.monotonic() - started)
    return _finish(results, out)


def arm_config(name: str, seed: int) -> "RunConfig":
    """Return the config of one arm: the shared recipe under the arm's preset and changes."""
    from healthgym.training.loading import make_config
    from healthgym.training.presets import under

    shared = yaml.safe_load(files("healthgym.quickstart").joinpath("recipe.yaml").read_text(encoding="utf-8"))
    return make_config(under(under(shared, ARMS[name]), {"preset": name, "seed": seed}))


def _warm_start(configs: Mapping[str, "RunConfig"], out: Path, tell: Tell) -> Path:
    """Warm-start the model once and lay a copy into every arm's folder."""
    from healthgym.cli.launch import make_policy
    from healthgym.cli.progress import tell_warm_start
    from healthgym.training.policy_source import source_from
    from healthgym.training.run import prepare

    first, *others = configs
    settings = configs[first].warm_start
    assert settings is not None
    if not (out / first / "start").is_dir():
        tell(f"warm start: {settings.steps} supervised steps on {settings.demonstrations} partial-skill demonstrations")
    start = prepare(configs[first], out / first, source_from(make_policy), tell_warm_start(settings.steps, tell))
    for name in others:
        target = out / name / "start"
        if not target.is_dir():
            copy_whole(start, target)
    return start


def run_arm(name: str, seed: int, out: Path, *, tell: Tell) -> dict[str, Any]:
    """Train one arm from the start that lies in its folder, measure it, and return its row."""
    import torch

    from healthgym.cli.launch import launch

    torch.set_num_threads(1)
    config = arm_config(name, seed)

    def on_step(step: int, row: Mapping[str, float]) -> None:
        if step == 1 or step % 10 == 0:
            tell(f"{name}: step {step}/{config.optim.steps}, train success {row['episode/success']:.2f}")

    launch(config, out / name, on_step=on_step)
    return {**_measured(name, out / name / "model", config, tell), **_counters(out / name)}


class _Results:
    """The rows measured so far, kept on disk."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.seed = path, seed
        self.rows: dict[str, dict[str, Any]] = {}
        self.seconds = 0.0
        """Time spent up to the end, interruptions left out."""
        self.is_complete = False
        if path.is_file():
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["seed"] != seed:
                raise ConfigError(
                    f"{path.parent} holds a quickstart of seed {kept['seed']}; give another folder with --out"
                )
            self.rows, self.seconds, self.is_complete = kept["rows"], kept["seconds"], kept["complete"]

    def keep(self, rows: Mapping[str, dict[str, Any]]) -> None:
        """Add measured rows."""
        self.rows.update(rows)
        self._save()

    def add_seconds(self, seconds: float) -> None:
        """Add the time of this call, unless everything had been measured before."""
        if not self.is_complete:
            self.seconds, self.is_complete = self.seconds + seconds, True
            self._save()

    def _save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        kept = {"seed": self.seed, "rows": self.rows, "seconds": self.seconds, "complete": self.is_complete}
        write_whole(self.path, json.dumps(kept, indent=1))


def _measured(name: str, model_folder: Path, config: "RunConfig", tell: Tell) -> dict[str, Any]:
    """Measure a saved model with the training's own loop, budgets and temperature."""
    tell(f"measuring {name} on {EVAL_TASKS} held-out tasks")
    from healthgym.cli.launch import measure
    from healthgym.tasks import load_suite
    from healthgym.training.models import load_saved
    from healthgym.training.policy_source import run_services

    model, tokenizer = load_saved(model_folder, config.model)
    suite = load_suite(*config.env.domains, per_family=config.env.per_family)
    ids = suite.ids(next(iter(suite.domains)), EVAL_SPLIT, config.env.families)[:EVAL_TASKS]
    result = measure(config, model, tokenizer, suite, ids, run_services(config))
    values = result.to_dict()
    low, high = result.ci
    kept = ("success", "n", "mean_tokens", "mean_turns", "mean_tool_calls", "hazards", "mean_reward", "counts")
    return {**{name: values[name] for name in kept}, "ci": [low, high], "outcomes": result.outcomes()}


def _counters(run_dir: Path) -> dict[str, int]:
    """Return how often hints fired and the teacher was updated: the run's own running totals at its last step."""
    last = json.loads((run_dir / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    return {name: int(last.get(f"tt_opd/{name}", 0)) for name in ("hints_fired", "teacher_updates")}


def _finish(results: _Results, out: Path) -> dict[str, Any]:
    from healthgym.diagnostics import append_evaluation, write_report

    report = ""
    for name in ARMS:
        folder = out / name
        append_evaluation(folder, "warm start", results.rows["warm_start"])
        append_evaluation(folder, f"after {name}", results.rows[name])
        report = str(write_report(folder))
    told = {name: {key: value for key, value in row.items() if key != "outcomes"} for name, row in results.rows.items()}
    return {**told, "seconds": round(results.seconds, 1), "report": report}
