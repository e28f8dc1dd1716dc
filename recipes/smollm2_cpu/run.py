"""The whole recipe: gets the model, builds a passage index where corpora are given, trains, and writes the report."""

import argparse
import json
import sys
import time
from pathlib import Path

from prepare import convert

from healthgym.cli.launch import run_recipe
from healthgym.cli.output import errors
from healthgym.cli.training_progress import training_progress
from healthgym.diagnostics import write_report
from healthgym.errors import HealthgymError, RunStopped
from healthgym.retrieval import build_index
from healthgym.training.loading import load_config

FOLDER = Path(__file__).parent


def main() -> int:
    """Run the recipe and print what it made."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=Path("runs/models/SmolLM2-135M-Instruct"))
    parser.add_argument("--corpus", type=Path, nargs="*", default=[], help="passage files for the look-up tools")
    parser.add_argument("--index", type=Path, default=Path("runs/indexes/smollm2"))
    parser.add_argument("--encoder", default="hashing", help="hashing is quick; minilm is better and slow on a CPU")
    parser.add_argument("--run-dir", type=Path, default=Path("runs/smollm2_cpu"))
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="A.B=C")
    arguments = parser.parse_args()
    overrides = [f"model.path={arguments.model}", *arguments.overrides]
    if not (arguments.model / "config.json").is_file():
        convert(arguments.model)
    if arguments.corpus:
        if not (arguments.index / "manifest.json").is_file():
            build_index(arguments.corpus, arguments.index, arguments.encoder)
        overrides.append(f"env.index={arguments.index}")
    started = time.monotonic()
    try:
        config = load_config(FOLDER / "recipe.yaml", overrides)
        supervised = config.warm_start.steps if config.warm_start else 0
        with training_progress(errors, steps=config.optim.steps, warm_start_steps=supervised) as progress:
            result = run_recipe(FOLDER / "recipe.yaml", overrides, arguments.run_dir, progress=progress)
    except RunStopped as stopped:
        print(stopped, file=sys.stderr)
        return stopped.exit_code
    except HealthgymError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    if result is not None:
        seconds = round(time.monotonic() - started)
        print(json.dumps({**result, "seconds": seconds, "report": str(write_report(arguments.run_dir))}, default=str))
    return 0


if __name__ == "__main__":
    sys.exit(main())
