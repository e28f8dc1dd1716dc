"""DeepSpeed ZeRO-3 on two gloo processes, with the launch config that is shipped: `recipes/accelerate/README.md` says how to run these."""

import json
import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from fever import fever_folder
from launching import launch
from safetensors.torch import load_file
from test_run import config
from test_two_processes import SCRIPT, assert_same_curve, log_of, start_from, teacher_of

from healthgym.training.loading import dump_config

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("deepspeed") is None, reason="DeepSpeed is not installed: pip install deepspeed==0.19.8"
    ),
    pytest.mark.skipif(
        shutil.which("c++") is None, reason="DeepSpeed compiles an operator, and there is no C++ compiler"
    ),
]


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a launch on CPUs needs; operators are compiled in a folder of the tests' own, where no lock was left behind."""
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])  # ninja among them
    return {"DS_ACCELERATOR": "cpu", "TORCH_EXTENSIONS_DIR": str(tmp_path_factory.mktemp("operators")), "PATH": tools}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, variables: dict[str, str]) -> Path:
    """Every scenario on two processes, resumed on two more, and on one that shards nothing."""
    root, shipped = tmp_path_factory.mktemp("launches"), "deepspeed_zero3.yaml"
    launch(shipped, 2, SCRIPT, root, "two,k3", "two_lora,k3,lora", "two_pieces,k3,pieces", "nan,k3,nan", **variables)
    start_from(root, "two", "from_two")
    launch(shipped, 2, SCRIPT, root, "from_two,k3,resume", **variables)
    launch("fsdp2.yaml", 1, SCRIPT, root, "one,k3", "one_lora,k3,lora")
    return root


@pytest.mark.parametrize(("two", "one"), [("two", "one"), ("two_lora", "one_lora"), ("two_pieces", "one")])
def test_a_partitioned_run_follows_the_same_curve_as_one_process(root: Path, two: str, one: str):
    log = log_of(root, two)
    assert log["sharded"]
    assert_same_curve(log["rows"], log_of(root, one)["rows"])


def test_the_groups_that_are_compared_are_alive(root: Path):
    # Of two groups a step at least one has attempts that earned differently, and the step moves the weights.
    for row in log_of(root, "two")["rows"]:
        assert row["reward_std"] > 0 and row["frac_reward_zero_std"] < 1 and row["grad_norm"] > 0.1
        assert row["tt_opd/kl"] > 0 and row["sampling/importance_sampling_ratio/mean"] == pytest.approx(1, abs=1e-4)


def test_student_and_teacher_are_cut_in_two_and_saved_whole(root: Path):
    whole, half = log_of(root, "one"), log_of(root, "two")
    assert whole["averaged"] == whole["held"]
    assert half["averaged"] == half["held"] < 0.51 * whole["held"]
    ours, theirs = (teacher_of(root / name / "checkpoint-4") for name in ("one", "two"))
    assert ours.keys() == theirs.keys()
    for name, tensor in ours.items():
        torch.testing.assert_close(theirs[name], tensor, rtol=1e-4, atol=1e-5)
    student = load_file(root / "two" / "checkpoint-4" / "model.safetensors")
    assert all(not torch.equal(student[name], theirs[name]) for name in theirs if name in student)  # it lags behind


def test_a_partitioned_run_resumes_with_its_teacher_bit_for_bit(root: Path):
    saved = teacher_of(root / "from_two" / "checkpoint-2")
    restored = torch.load(root / "from_two" / "begun.pt", weights_only=True)["weights"]
    assert all(torch.equal(tensor, restored[name]) for name, tensor in saved.items())
    assert_same_curve(log_of(root, "from_two")["rows"], log_of(root, "two")["rows"][2:])


def test_a_gradient_that_is_no_number_is_skipped_and_counted(root: Path):
    rows = log_of(root, "nan")["rows"]
    assert [row["robust/bad_steps_total"] for row in rows] == [0, 1, 1, 1]
    assert [row.get("tt_opd/teacher_updates") for row in rows] == [1, None, 2, 3]  # a skipped step moves no teacher
    assert all(torch.isfinite(tensor).all() for tensor in teacher_of(root / "nan" / "checkpoint-4").values())


def test_a_recipe_runs_partitioned_from_warm_start_to_saved_model(tmp_path: Path, variables: dict[str, str]):
    recipe = tmp_path / "run.yaml"
    settings = config(
        fever_folder(tmp_path / "domain"), hint={"probe_tasks": 2, "probe_every": 2}, divergence={"kind": "k3"},
        optim={"steps": 2, "tasks_per_step": 2, "num_generations": 2, "learning_rate": 1e-3},
    )  # fmt: skip
    recipe.write_text(dump_config(settings))
    launch("deepspeed_zero3.yaml", 2, SCRIPT.parent / "run_fever.py", recipe, tmp_path / "run", 0, **variables)
    run = tmp_path / "run"
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1, 2]
    assert all(abs(row["sampling/importance_sampling_ratio/mean"] - 1) < 1e-3 for row in rows)
    assert rows[-1]["tt_opd/teacher_updates"] == 2 and rows[-1]["tt_opd/teacher_distance"] > 0
    assert (run / "hint_probe.json").is_file()
    start, end = (load_file(run / name / "model.safetensors") for name in ("start", "model"))
    assert {n: t.shape for n, t in start.items()} == {n: t.shape for n, t in end.items()}
    assert any(not torch.equal(tensor, end[name]) for name, tensor in start.items())
