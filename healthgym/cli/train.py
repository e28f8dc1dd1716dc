"""`healthgym train`: runs a recipe, shows how it goes, and says at the end where the run lies."""

from pathlib import Path
from typing import Annotated

import typer

from healthgym.cli.output import Json, errors, print_json, print_json_line
from healthgym.cli.training_progress import training_progress


def train(
    recipe: Annotated[Path, typer.Argument(help="YAML recipe.")],
    overrides: Annotated[
        list[str] | None, typer.Option("--set", "-s", metavar="A.B=C", help="Override one setting; may be repeated.")
    ] = None,
    run_dir: Annotated[
        Path | None, typer.Option("--run-dir", "-o", help="Folder of the run; runs/RECIPE when absent.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the recipe and print every setting; train nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Train a recipe. The same command after an interruption continues the run.

    Progress is shown on stderr and steps are logged in RUN_DIR/metrics.jsonl; the last line of stdout is one JSON
    object {run_dir, steps, metrics}. Ctrl-C finishes the step and saves a checkpoint (exit code 130; SIGTERM 143);
    once more stops at once. On several GPUs: accelerate launch recipes/train.py --config RECIPE.yaml

    Example: healthgym train recipes/quickstart/tt_opd.yaml --set optim.steps=20 --run-dir runs/first
    """
    from healthgym.cli.launch import run_recipe
    from healthgym.training.loading import dump_config, load_config
    from healthgym.training.startup import check_settings

    config = load_config(recipe, overrides or ())
    if dry_run:
        check_settings(config)
        if as_json:
            return print_json(config.model_dump(by_alias=True, mode="json"))
        typer.echo(dump_config(config), nl=False)
        return None

    supervised = config.warm_start.steps if config.warm_start else 0
    with training_progress(errors, steps=config.optim.steps, warm_start_steps=supervised, quiet=as_json) as progress:
        result = run_recipe(recipe, overrides or (), run_dir, progress=progress)
    print_json_line(result)
    return None
