"""Measures a run on held-out patients, before and after reinforcement: python recipes/own_domain/measure.py runs/own_domain."""

import argparse
import json
import sys
from pathlib import Path

from healthgym.cli.launch import measure
from healthgym.diagnostics import append_evaluation
from healthgym.errors import HealthgymError
from healthgym.tasks import load_suite
from healthgym.training.loading import load_config
from healthgym.training.models import load_saved
from healthgym.training.policy_source import run_services

MODELS = {"warm start": "start", "trained": "model"}


def main() -> int:
    """Play every test task once with either model, as training samples, and print success with its 95 % interval."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run_dir", type=Path, help="folder of a finished run")
    run_dir = parser.parse_args().run_dir
    try:
        config = load_config(run_dir / "config.yaml")
        suite = load_suite(*config.env.domains, per_family=config.env.per_family)
        ids = suite.ids(split="test", families=config.env.families)
        for label, folder in MODELS.items():
            model, tokenizer = load_saved(run_dir / folder, config.model)
            result = measure(config, model, tokenizer, suite, ids, run_services(config))
            append_evaluation(run_dir, label, {**result.to_dict(), "outcomes": result.outcomes()})
            low, high = result.ci
            told = {"success": result.success, "low": low, "high": high, "reward": result.mean_reward}
            rounded = {name: round(value, 3) for name, value in told.items()}
            print(json.dumps({"model": label, "n": result.n, **rounded}), flush=True)
    except HealthgymError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
