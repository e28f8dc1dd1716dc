"""Two gloo processes against one: plain data parallelism and FSDP2, with the launch config that is shipped."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from launching import launch

from healthgym.training.checkpoints import checkpoints

SCRIPT = Path(__file__).parent / "run_yes.py"
COMPARED = (
    "loss", "reward", "grad_norm", "tt_opd/kl", "tt_opd/teacher_distance", "tt_opd/teacher_share", "episode/success", "entropy",
)  # fmt: skip
NORMS = ("tt_opd/grad_norm_policy", "tt_opd/grad_norm_distillation")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every scenario in three launches: two processes, one, and two again."""
    root = tmp_path_factory.mktemp("launches")
    apart = ("balance,balance", "sign,sign", "lose,lose")
    launch(
        "fsdp2.yaml", 2, SCRIPT, root, "two", "two_fsdp,fsdp", "two_lora,fsdp,lora", *(f"two_{one}" for one in apart),
        "ctrl_c,ctrl_c", "dead,dead", "two_balance_fsdp,fsdp,balance", "two_pieces_fsdp,fsdp,measure,pieces,recompute",
        "two_lora_balance_fsdp,fsdp,lora,balance",
    )  # fmt: skip
    start_from(root, "two_fsdp", "from_two")
    launch(
        "fsdp2.yaml", 1, SCRIPT, root, "one", "one_fsdp,fsdp", "one_lora,lora", "from_two,fsdp,resume",
        *(f"one_{one}" for one in apart), "one_lora_balance,lora,balance", "one_measure,measure",
    )  # fmt: skip
    start_from(root, "one_fsdp", "from_one")
    launch("fsdp2.yaml", 2, SCRIPT, root, "from_one,fsdp,resume")
    return root


def start_from(root: Path, before: str, after: str) -> None:
    shutil.copytree(root / before / "checkpoint-2", root / after / "checkpoint-2")


def log_of(root: Path, name: str) -> dict[str, Any]:
    return json.loads((root / name / "log.json").read_text())


def teacher_of(checkpoint: Path) -> dict[str, torch.Tensor]:
    return torch.load(checkpoint / "healthgym.pt", weights_only=True)["distill"]["teacher"]["weights"]


def assert_same_curve(
    rows: list[dict[str, float]], others: list[dict[str, float]], names: Sequence[str] = COMPARED
) -> None:
    # The same eight episodes a step; only the order of float32 sums differs.
    for name in names:
        assert [row[name] for row in rows] == pytest.approx([row[name] for row in others], rel=1e-5, abs=1e-5), name


def assert_same_norms(rows: list[dict[str, float]], others: list[dict[str, float]]) -> None:
    for name in ("tt_opd/lambda", "tt_opd/grad_ratio", *NORMS):  # 0.005 to 1: no absolute tolerance
        assert all(row[name] > 0 for row in rows)
        assert [row[name] for row in rows] == pytest.approx([row[name] for row in others], rel=1e-4, abs=0), name


@pytest.mark.slow
def test_two_processes_follow_the_same_curve_as_one_with_twice_the_batch(root: Path):
    one, two = log_of(root, "one"), log_of(root, "two")
    assert not two["sharded"]
    assert_same_curve(two["rows"], one["rows"])
    for log in (one, two):  # eight episodes a step, four of them on the second of two processes
        assert [row["tt_opd/hints_fired"] for row in log["rows"]] == [8, 16, 24, 32]


@pytest.mark.slow
def test_every_process_counts(root: Path):
    # The last two of a step's eight episodes are lost: with two processes both are the second's.
    for log in (log_of(root, "one_lose"), log_of(root, "two_lose")):
        assert [row["episode/infrastructure_failures_total"] for row in log["rows"]] == [2, 4, 6, 8]
        assert [row["tt_opd/hints_fired"] for row in log["rows"]] == [6, 12, 18, 24]
        assert [row["tt_opd/hints_unknown"] for row in log["rows"]] == [2, 4, 6, 8]


@pytest.mark.slow
def test_a_signal_to_one_process_stops_both_after_the_same_step(root: Path):
    told = [(root / "ctrl_c" / f"told-{process}.txt").read_text() for process in (0, 1)]
    assert told[0] == told[1] and "Stopped by SIGINT after step 2" in told[0]
    assert [path.name for path in checkpoints(root / "ctrl_c")] == ["checkpoint-2"]
    assert_same_curve(log_of(root, "ctrl_c")["rows"], log_of(root, "two")["rows"][:2])


@pytest.mark.slow
def test_an_early_stop_ends_both_processes_with_a_checkpoint(root: Path):
    assert len(log_of(root, "dead")["rows"]) == 2
    assert [path.name for path in checkpoints(root / "dead")] == ["checkpoint-2"]


@pytest.mark.slow
def test_a_signed_run_is_the_same_on_two_processes(root: Path):
    rows = log_of(root, "two_sign")["rows"]
    assert all(row["tt_opd/sign_change"] > 0 for row in rows[1:])
    names = ("tt_opd/sign_change", "tt_opd/sign_clipped")
    assert_same_curve(rows, log_of(root, "one_sign")["rows"], (*COMPARED, *names))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("two", "one", "sharded"),
    [
        ("two_balance", "one_balance", False),
        ("two_balance_fsdp", "one_balance", True),
        ("two_lora_balance_fsdp", "one_lora_balance", True),
    ],
)
def test_a_balanced_run_measures_the_same_gradient_norms_on_two_processes(
    root: Path, two: str, one: str, sharded: bool
):
    log, whole = log_of(root, two), log_of(root, one)["rows"]
    assert log["sharded"] == sharded
    assert all(row["tt_opd/lambda"] < 0.45 for row in log["rows"])  # the norms hold it below the schedule's 0.5
    assert_same_norms(log["rows"], whole)
    assert_same_curve(log["rows"], whole)


@pytest.mark.slow
def test_norms_measured_over_micro_batches_are_those_of_the_whole_step(root: Path):
    # Two micro-batches a process, with FSDP reducing the gradients of each by itself, and activations computed anew in each pass.
    rows, whole = log_of(root, "two_pieces_fsdp")["rows"], log_of(root, "one_measure")["rows"]
    assert_same_norms(rows, whole)
    assert_same_curve(rows, whole)


@pytest.mark.slow
@pytest.mark.parametrize(("sharded", "whole"), [("two_fsdp", "one"), ("one_fsdp", "one"), ("two_lora", "one_lora")])
def test_a_sharded_run_follows_the_same_curve_as_one_process(root: Path, sharded: str, whole: str):
    log = log_of(root, sharded)
    assert log["sharded"]
    assert_same_curve(log["rows"], log_of(root, whole)["rows"])


@pytest.mark.slow
def test_student_and_teacher_are_cut_in_two_and_saved_whole(root: Path):
    whole, half = log_of(root, "one"), log_of(root, "two_fsdp")
    assert whole["averaged"] == whole["held"]
    assert half["averaged"] == half["held"] < 0.51 * whole["held"]
    ours, theirs = (teacher_of(root / name / "checkpoint-4") for name in ("one", "two_fsdp"))
    assert ours.keys() == theirs.keys()
    for name, tensor in ours.items():
        torch.testing.assert_close(theirs[name], tensor, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [("two_fsdp", "from_two"), ("one_fsdp", "from_one")])
def test_a_sharded_run_resumes_on_another_number_of_processes(root: Path, before: str, after: str):
    saved = teacher_of(root / after / "checkpoint-2")
    restored = torch.load(root / after / "begun.pt", weights_only=True)["weights"]
    assert all(torch.equal(tensor, restored[name]) for name, tensor in saved.items())
    assert_same_curve(log_of(root, after)["rows"], log_of(root, before)["rows"][2:])
