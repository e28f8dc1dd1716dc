"""Trains a recipe on one process or many: accelerate launch recipes/train.py --config RECIPE.yaml [--set a.b=c] [--run-dir DIR]."""

import argparse
import json
import sys
from pathlib import Path

from healthgym.cli.launch import run_recipe
from healthgym.errors import HealthgymError


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
        result = run_recipe(arguments.config, arguments.overrides, arguments.run_dir)
    except HealthgymError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    if result is not None:
        print(json.dumps(result, default=str))
    return 0


if __name__ == "__main__":
    sys.exit(main())
