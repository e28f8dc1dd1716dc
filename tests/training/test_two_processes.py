"""Two gloo processes against one: plain data parallelism and FSDP2, with the launch configs that are shipped."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from launching import launch

SCRIPT = Path(__file__).parent / "run_yes.py"
COMPARED = ("loss", "reward", "grad_norm", "tt_opd/kl", "tt_opd/teacher_distance", "episode/success", "entropy")


def run(folder: Path, config: str, processes: int, *options: str) -> dict[str, Any]:
    launch(config, processes, SCRIPT, folder, *options)
    return json.loads((folder / "log.json").read_text())


def teacher_of(checkpoint: Path) -> dict[str, torch.Tensor]:
    return torch.load(checkpoint / "healthgym.pt", weights_only=True)["distill"]["teacher"]["weights"]


def assert_same_curve(rows: list[dict[str, float]], others: list[dict[str, float]], *, rel: float, abs: float) -> None:
    for name in COMPARED:
        assert [row[name] for row in rows] == pytest.approx([row[name] for row in others], rel=rel, abs=abs), name


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("one")
    return folder, run(folder, "ddp.yaml", 1)


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("sharded")
    return folder, run(folder, "fsdp2.yaml", 2)


@pytest.mark.slow
def test_two_processes_follow_the_same_curve_as_one_with_twice_the_batch(one, tmp_path: Path):
    two = run(tmp_path, "ddp.yaml", 2)
    assert not two["sharded"]
    # The same eight episodes a step; only the order of float32 sums differs.
    assert_same_curve(two["rows"], one[1]["rows"], rel=1e-5, abs=1e-5)
    assert [row["tt_opd/hints_fired"] for row in one[1]["rows"]] == [8, 16, 24, 32]


@pytest.mark.slow
def test_a_sharded_run_follows_the_same_curve_as_one_process(one, sharded):
    assert sharded[1]["sharded"]
    assert_same_curve(sharded[1]["rows"], one[1]["rows"], rel=1e-5, abs=1e-5)


@pytest.mark.slow
def test_student_and_teacher_are_cut_in_two_and_saved_whole(one, sharded):
    whole, half = one[1], sharded[1]
    assert whole["averaged"] == whole["held"]
    assert half["averaged"] == half["held"] < 0.51 * whole["held"]
    ours, theirs = (teacher_of(folder / "checkpoint-4") for folder, _ in (one, sharded))
    assert ours.keys() == theirs.keys()
    for name, tensor in ours.items():
        torch.testing.assert_close(theirs[name], tensor, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2)])
def test_a_sharded_run_resumes_on_another_number_of_processes(sharded, tmp_path: Path, before: int, after: int):
    source, log = sharded
    if before != 2:
        source = tmp_path / "before"
        log = run(source, "fsdp2.yaml", before)
    folder = tmp_path / "after"
    shutil.copytree(source / "checkpoint-2", folder / "checkpoint-2")
    resumed = run(folder, "fsdp2.yaml", after, "resume")
    saved, restored = teacher_of(folder / "checkpoint-2"), torch.load(folder / "begun.pt", weights_only=True)["weights"]
    assert all(torch.equal(tensor, restored[name]) for name, tensor in saved.items())
    assert_same_curve(resumed["rows"], log["rows"][2:], rel=1e-5, abs=1e-5)


@pytest.mark.slow
def test_adapters_under_fsdp_train_as_they_do_whole(tmp_path: Path):
    whole, half = run(tmp_path / "one", "ddp.yaml", 1, "lora"), run(tmp_path / "two", "fsdp2.yaml", 2, "lora")
    assert half["sharded"]
    assert_same_curve(half["rows"], whole["rows"], rel=1e-5, abs=1e-5)
