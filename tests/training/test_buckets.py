"""Length-bucketed micro-batches, gradient accumulation and gradient checkpointing leave loss and gradient alone."""

from pathlib import Path
from typing import Any

import pytest
import torch
from test_episode_trainer import build, settings, trained, weights
from tiny import YesEnvironment

from healthgym.errors import ConfigError
from healthgym.rollout import Trajectory
from healthgym.training.batches import micro_batches
from healthgym.training.buckets import bucket_by_length
from healthgym.training.rows import EpisodeRow


def batch(lengths: list[tuple[int, int]], prompt_width: int, completion_width: int) -> dict[str, Any]:
    prompts = torch.tensor([[0] * (prompt_width - p) + [1] * p for p, _ in lengths])
    completions = torch.tensor([[1] * c + [0] * (completion_width - c) for _, c in lengths])
    names = torch.tensor([10 * p + c for p, c in lengths])
    return {
        "prompt_ids": prompts * names[:, None], "prompt_mask": prompts,
        "completion_ids": completions * names[:, None], "completion_mask": completions,
        "turn_ids": completions - 1, "teacher_prompt_ids": prompts, "teacher_prompt_mask": prompts,
        "advantages": names.float(), "num_items_in_batch": torch.tensor(9.0), "pixel_values": None,
    }  # fmt: skip


def test_trajectories_are_sorted_by_length_and_idle_columns_dropped():
    # Lengths 2+1, 1+5 | 2+4, 1+1 in width 2+5 = 7: 28 positions, 17 of them tokens.
    buckets = bucket_by_length([batch([(2, 1), (1, 5)], 2, 5), batch([(2, 4), (1, 1)], 2, 5)])
    longest, shortest = buckets.batches
    assert longest["advantages"].tolist() == [15.0, 24.0] and shortest["advantages"].tolist() == [21.0, 11.0]
    assert longest["completion_ids"].shape == (2, 5) and shortest["completion_ids"].shape == (2, 1)
    assert longest["prompt_ids"].tolist() == [[0, 15], [24, 24]]
    assert shortest["turn_ids"].tolist() == [[0], [0]]
    assert shortest["num_items_in_batch"] == 9.0 and shortest["pixel_values"] is None
    # 2 * (2 + 5) + 2 * (2 + 1) = 20 positions are left.
    assert buckets.metrics() == pytest.approx({"batch/padding_share": 1 - 17 / 20, "batch/padding_saved": 1 - 20 / 28})


class Ragged(YesEnvironment):
    """Turns of 1 to 24 tokens."""

    def play(self, row: EpisodeRow, generator: torch.Generator) -> Trajectory:
        self.max_tokens = int(torch.randint(1, 25, (1,), generator=generator))
        return super().play(row, generator)


def first_step(folder: Path, *, by_length: bool = False, model: Any = None, **optim: Any) -> dict[str, Any]:
    """One step of plain gradient descent, so that the change of the weights is the gradient."""
    config = settings(
        1, optim={"learning_rate": 1e-2, "max_grad_norm": 1e9, "num_generations": 8, **optim}, divergence={"k": 6},
        guard={"grad_norm_every": 0}, **{"lambda": {"start": 5.0}},
    )  # fmt: skip
    trainer, log = build(folder, config, model=model)
    trainer.by_length = by_length
    trainer.collect = Ragged(trainer.processing_class, trainer.model)
    trainer.optimizer = torch.optim.SGD(trainer.model.parameters(), lr=1.0)
    before = weights(trainer)
    trained((trainer, log))
    gradient = {name: before[name] - tensor for name, tensor in weights(trainer).items()}
    return {"gradient": gradient, **log.rows[0]}


def assert_same_step(one: dict[str, Any], other: dict[str, Any]) -> None:
    for name in ("loss", "tt_opd/kl"):
        assert other[name] == pytest.approx(one[name], abs=1e-6), name
    assert any(tensor.abs().max() > 1e-3 for tensor in one["gradient"].values())
    for name, tensor in one["gradient"].items():
        torch.testing.assert_close(other["gradient"][name], tensor, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("loss_type", ["dapo", "grpo", "dr_grpo"])
def test_bucketed_micro_batches_leave_the_step_alone_and_save_padding(tmp_path: Path, loss_type: str):
    plain = first_step(tmp_path / "a", loss_type=loss_type, micro_batch=4)
    bucketed = first_step(tmp_path / "b", loss_type=loss_type, micro_batch=4, by_length=True)
    assert_same_step(plain, bucketed)
    assert bucketed["batch/padding_saved"] > 0.2
    assert bucketed["batch/padding_share"] < 0.25


def test_buckets_are_refused_where_they_would_change_the_loss():
    with pytest.raises(ConfigError, match="bnpo"):
        settings(optim={"loss_type": "bnpo", "bucket_by_length": True})


def test_gradient_accumulation_leaves_the_step_alone(tmp_path: Path):
    assert_same_step(first_step(tmp_path / "a", micro_batch=16), first_step(tmp_path / "b", micro_batch=2))


def test_gradient_checkpointing_leaves_the_step_alone(tmp_path: Path):
    plain = first_step(tmp_path / "a", micro_batch=8)
    recomputed = first_step(tmp_path / "b", micro_batch=8, gradient_checkpointing=True)
    assert_same_step(plain, recomputed)


def test_the_sizes_of_micro_batch_that_cut_a_step_equally_are_named():
    assert micro_batches(3, 8) == [24, 12, 8, 6, 4, 3, 2, 1]
    assert micro_batches(2, 8, processes=4) == [4, 2, 1]
    with pytest.raises(ConfigError, match="multiple of 3"):
        micro_batches(1, 4, processes=3)
