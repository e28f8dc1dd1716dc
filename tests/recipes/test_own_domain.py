"""The recipe of a domain outside the package: its folder is proved, training on it runs and is measured."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from healthgym.registry import load_domain
from healthgym.validation import validate

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "recipes" / "own_domain"


def test_a_sample_of_the_diabetes_clinic_is_proved():
    proof = validate(load_domain(RECIPE / "diabetes_clinic"), sample=12)
    assert proof["failures"] == []
    assert proof["oracle_min"] == 1.0


@pytest.mark.slow
def test_a_tiny_model_trains_two_steps_on_the_folder_and_is_measured_before_and_after(tmp_path: Path):
    short = ("warm_start.demonstrations=16", "warm_start.steps=4", "optim.steps=2", "checkpoint.every=2")
    small = ("optim.tasks_per_step=2", "optim.num_generations=2", "env.per_family.test=3")
    run_dir = tmp_path / "run"
    command = ["recipes/train.py", "--config", str(RECIPE / "recipe.yaml"), "--run-dir", str(run_dir)]
    told = _told(*command, *(word for setting in (*short, *small) for word in ("--set", setting)))
    assert told[-1]["steps"] == 2
    rows = (run_dir / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(row)["step"] for row in rows] == [1, 2]
    measured = _told(str(RECIPE / "measure.py"), str(run_dir))
    assert [(row["model"], row["n"]) for row in measured] == [("warm start", 3), ("trained", 3)]
    assert all(row["low"] <= row["success"] <= row["high"] for row in measured)


def _told(*command: str) -> list[dict[str, Any]]:
    """Run a script from the repository's root and return the JSON lines it printed."""
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]
