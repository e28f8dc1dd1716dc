"""`healthgym train`: runs a recipe, a line a step, and says at the end where the run lies."""

from pathlib import Path
from typing import Annotated

import typer

from healthgym.cli.output import Json, errors, print_json, print_json_line
from healthgym.cli.progress import tell_steps, tell_warm_start
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

    Steps are told on stderr and logged in RUN_DIR/metrics.jsonl; the last line of stdout is one JSON object
    {run_dir, steps, metrics}. On several GPUs:
    accelerate launch --config_file recipes/accelerate/fsdp2.yaml recipes/train.py --config RECIPE.yaml

    --dry-run prints the plan: parameters, memory by item, episodes and tokens, which mechanisms are live, warnings.
    With --json {config, plan}.

    Example: healthgym train recipes/quickstart/tt_opd.yaml --set optim.steps=20 --run-dir runs/first
    """
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

    def tell(line: str) -> None:
        if not as_json:
            errors.print(line, markup=False)

    supervised = config.warm_start.steps if config.warm_start else 0
    result = run_recipe(
        recipe,
        overrides or (),
        run_dir,
        on_step=tell_steps(config.optim.steps, tell),
        on_warm_start=tell_warm_start(supervised, tell),
    )
    print_json_line(result)
    return None
