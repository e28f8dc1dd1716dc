"""A whole run under FSDP2: warm start, hint probe, sampling from a copy, checkpoints and saved models."""

import json
from pathlib import Path

import pytest
import torch
from fever import fever_folder
from launching import launch
from safetensors.torch import load_file
from test_run import config

from healthgym.training.loading import dump_config


@pytest.mark.slow
def test_a_recipe_runs_sharded_from_warm_start_to_saved_model(tmp_path: Path):
    recipe = tmp_path / "run.yaml"
    optim = {"steps": 2, "tasks_per_step": 2, "num_generations": 2, "learning_rate": 1e-3}
    settings = config(fever_folder(tmp_path / "domain"), optim=optim, hint={"probe_tasks": 2, "probe_every": 2})
    recipe.write_text(dump_config(settings))
    launch("fsdp2.yaml", 2, Path(__file__).parent / "run_fever.py", recipe, tmp_path / "run", 0)
    run = tmp_path / "run"
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1, 2]
    # The copy that was sampled from holds the weights that are trained.
    assert all(abs(row["sampling/importance_sampling_ratio/mean"] - 1) < 1e-3 for row in rows)
    assert rows[-1]["tt_opd/teacher_updates"] == 2 and rows[-1]["tt_opd/teacher_distance"] > 0
    assert (run / "hint_probe.json").is_file()
    start, end = (load_file(run / name / "model.safetensors") for name in ("start", "model"))
    assert {n: t.shape for n, t in start.items()} == {n: t.shape for n, t in end.items()}
    assert any(not torch.equal(tensor, end[name]) for name, tensor in start.items())
