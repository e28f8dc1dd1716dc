"""The recipe of a domain outside the package: its folder is proved, and training on it runs."""

import json
import subprocess
import sys
from pathlib import Path

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
def test_a_tiny_model_trains_two_steps_on_the_folder(tmp_path: Path):
    short = ("warm_start.demonstrations=16", "warm_start.steps=4", "optim.steps=2", "checkpoint.every=2")
    command = [sys.executable, "recipes/train.py", "--config", str(RECIPE / "recipe.yaml")]
    command += ["--run-dir", str(tmp_path / "run")]
    done = subprocess.run(
        [*command, *(word for setting in short for word in ("--set", setting))],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1])["steps"] == 2
    rows = (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(row)["step"] for row in rows] == [1, 2]
