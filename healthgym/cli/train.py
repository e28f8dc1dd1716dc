"""`healthgym train`: runs a recipe, a line a step, and says at the end where the run lies."""

from pathlib import Path
from typing import Annotated

import typer

from healthgym.cli.output import Json, errors, print_json, print_json_line
from healthgym.cli.progress import tell_steps, tell_warm_start


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

    Steps are told on stderr and logged in RUN_DIR/metrics.jsonl; the last line of stdout is one JSON object
    {run_dir, steps, metrics}. On several GPUs: accelerate launch recipes/train.py --config RECIPE.yaml

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
