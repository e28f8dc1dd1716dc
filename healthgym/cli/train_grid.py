"""`healthgym train --grid`: a recipe under every arm and seed of a grid."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from healthgym.cli.output import errors, print_json, print_json_line
from healthgym.cli.progress import tell_steps
from healthgym.errors import ConfigError

if TYPE_CHECKING:
    from healthgym.training.config import RunConfig


def train_grid(
    recipe: Path,
    name: str,
    seeds: str,
    arms: str,
    overrides: Sequence[str],
    run_dir: Path | None,
    *,
    list_only: bool,
    as_json: bool,
) -> None:
    """Run a grid or print its plan; exits with 1 when a run failed."""
    from healthgym.training.grid import plan_grid, run_grid

    folder = run_dir if run_dir is not None else Path("runs") / f"{recipe.stem}-{name}"
    runs = plan_grid(
        recipe, name, folder, seeds=_numbers(seeds), overrides=overrides, arms=[a for a in arms.split(",") if a]
    )
    if list_only:
        return print_json([run.to_dict() for run in runs])

    def tell(line: str) -> None:
        if not as_json:
            errors.print(line, markup=False)

    def start(config: "RunConfig", folder: Path) -> Mapping[str, Any]:
        from healthgym.cli.launch import launch

        return launch(config, folder, on_step=tell_steps(config.optim.steps, tell)).metrics

    report = run_grid(runs, folder, launch=start, prepare=_prepare, tell=tell)
    for line in report:
        print_json_line(line)
    if any(line["status"] == "failed" for line in report):
        raise typer.Exit(1)
    return None


def _prepare(config: "RunConfig", run_dir: Path) -> Path:
    from healthgym.training.policy_source import source_from
    from healthgym.training.run import prepare

    return prepare(config, run_dir, source_from())


def _numbers(seeds: str) -> list[int]:
    try:
        return [int(seed) for seed in seeds.split(",")]
    except ValueError:
        raise ConfigError(f"--seeds {seeds!r}: expected numbers separated by commas, for instance 0,1,2") from None
