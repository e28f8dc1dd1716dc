"""`healthgym train`: runs a recipe, shows how it goes, and says at the end where the run lies."""

from pathlib import Path
from typing import Annotated

import typer

from healthgym.cli.output import Json, errors, print_json, print_json_line
from healthgym.cli.training_progress import training_progress
from healthgym.errors import ConfigError


def train(
    recipe: Annotated[Path, typer.Argument(help="YAML recipe.")],
    overrides: Annotated[
        list[str] | None, typer.Option("--set", "-s", metavar="A.B=C", help="Override one setting; may be repeated.")
    ] = None,
    run_dir: Annotated[
        Path | None, typer.Option("--run-dir", "-o", help="Folder of the run; runs/RECIPE when absent.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the recipe and print what the run will be; train nothing.")
    ] = False,
    grid: Annotated[
        str | None, typer.Option("--grid", "-g", help="Run the recipe under every arm of a grid: ablation, hints, ...")
    ] = None,
    seeds: Annotated[str, typer.Option("--seeds", help="With --grid: seeds of each arm, separated by commas.")] = "0",
    arms: Annotated[str, typer.Option("--arms", help="With --grid: only these arms, separated by commas.")] = "",
    list_only: Annotated[
        bool, typer.Option("--list", help="With --grid: print the plan as JSON; train nothing.")
    ] = False,
    processes: Annotated[
        int, typer.Option("--processes", min=1, help="Of the launch, one a device; with --dry-run.")
    ] = 1,
    sharding: Annotated[
        str | None, typer.Option("--sharding", help="none or fsdp; FSDP2 for full fine-tuning on several when absent.")
    ] = None,
    device_memory: Annotated[
        float | None, typer.Option("--device-memory", min=0.0, help="GiB of one device; with --dry-run.")
    ] = None,
    on_cpu: Annotated[bool, typer.Option("--cpu", help="Plan for processes without an accelerator.")] = False,
    as_json: Json = False,
) -> None:
    """Train a recipe. The same command after an interruption continues the run.

    Progress is shown on stderr and steps are logged in RUN_DIR/metrics.jsonl; the last line of stdout is one JSON
    object {run_dir, steps, metrics}. Ctrl-C finishes the step and saves a checkpoint (exit code 130; SIGTERM 143);
    once more stops at once. On several GPUs:
    accelerate launch --config_file recipes/accelerate/fsdp2.yaml recipes/train.py --config RECIPE.yaml

    --dry-run prints the plan: parameters, memory by item, episodes and tokens, which mechanisms are live, warnings.
    With --json {config, plan}.

    With --grid the recipe runs under every arm and seed, one after another, and finished runs are skipped; RUN_DIR (or
    runs/RECIPE-GRID) holds ARM/seed-N and grid.json with the final metrics.

    Example: healthgym train recipes/quickstart/tt_opd.yaml --set optim.steps=20 --run-dir runs/first

    Example: healthgym train recipes/quickstart/tt_opd.yaml --grid ablation --seeds 0,1,2 --list
    """
    if grid is not None:
        from healthgym.cli.train_grid import train_grid

        return train_grid(
            recipe, grid, seeds, arms, overrides or (), run_dir, list_only=list_only or dry_run, as_json=as_json
        )
    from healthgym.cli.launch import run_recipe
    from healthgym.training.loading import load_config

    config = load_config(recipe, overrides or ())
    if dry_run:
        from healthgym.cli.plan import show_plan
        from healthgym.training.plan import make_plan

        if sharding not in (None, "none", "fsdp"):
            raise ConfigError(f"--sharding {sharding!r}: expected none or fsdp")
        plan = make_plan(
            config,
            processes=processes,
            sharding=sharding,  # type: ignore[arg-type]
            device_gib=device_memory,
            on_device=not on_cpu,
        )
        if as_json:
            return print_json({"config": config.model_dump(by_alias=True, mode="json"), "plan": plan.to_dict()})
        return show_plan(plan)

    supervised = config.warm_start.steps if config.warm_start else 0
    with training_progress(errors, steps=config.optim.steps, warm_start_steps=supervised, quiet=as_json) as progress:
        result = run_recipe(recipe, overrides or (), run_dir, progress=progress)
    print_json_line(result)
    return None
