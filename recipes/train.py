"""Trains a recipe on one process or many: accelerate launch recipes/train.py --config RECIPE.yaml [--set a.b=c] [--run-dir DIR]."""

import argparse
import json
import sys
from pathlib import Path

from healthgym.cli.launch import run_recipe
from healthgym.cli.output import errors
from healthgym.cli.training_progress import training_progress
from healthgym.errors import HealthgymError, RunStopped
from healthgym.training.loading import load_config


def main() -> int:
    """Parse, train, and print {run_dir, steps, metrics} on the main process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, required=True, help="YAML recipe")
    parser.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="A.B=C", help="override a setting"
    )
    parser.add_argument("--run-dir", type=Path, help="folder of the run; runs/RECIPE when absent")
    arguments = parser.parse_args()
    try:
        config = load_config(arguments.config, arguments.overrides)
        supervised = config.warm_start.steps if config.warm_start else 0
        with training_progress(errors, steps=config.optim.steps, warm_start_steps=supervised) as progress:
            result = run_recipe(arguments.config, arguments.overrides, arguments.run_dir, progress=progress)
    except RunStopped as stopped:
        print(stopped, file=sys.stderr)
        return stopped.exit_code
    except HealthgymError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    if result is not None:
        print(json.dumps(result, default=str))
    return 0


if __name__ == "__main__":
    sys.exit(main())
