"""Memory that runs out is met with smaller pieces, and the step comes out the same."""

from pathlib import Path
from typing import Any

import pytest
import torch
from test_episode_trainer import build, settings, weights
from tiny import make_model, make_rows, make_tokenizer

from healthgym.rollout.memory import OutOfMemory
from healthgym.training.retrying import cut
from healthgym.training.rollout_memory import ShrinkingSource
from healthgym.training.rows import EpisodeRow


class SmallMemory(torch.nn.Module):
    """Counts rows with gradient of the wrapped layer and fails like a full device above a limit."""

    def __init__(self, layer: torch.nn.Module, most: int) -> None:
        super().__init__()
        self.layer, self.most, self.refused = layer, most, 0

    def forward(self, hidden: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if torch.is_grad_enabled() and self.training and hidden.size(0) > self.most:
            self.refused += 1
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return self.layer(hidden, *args, **kwargs)


def small(most: int) -> Any:
    model = make_model(make_tokenizer())
    model.model.layers[1].mlp = SmallMemory(model.model.layers[1].mlp, most)
    return model


@pytest.mark.parametrize("loss_type", ["dapo", "grpo"])
def test_a_step_that_runs_out_of_memory_is_taken_again_in_pieces_with_the_same_result(tmp_path: Path, loss_type: str):
    changes = {"loss_type": loss_type, "learning_rate": 1e-3, "micro_batch": 4}
    whole, log = build(tmp_path / "a", settings(2, optim=changes), model=small(8))
    whole.train()
    model = small(1)
    parts, other = build(tmp_path / "b", settings(2, optim=changes), model=model)
    parts.train()
    # 4 rows fail, then 2, then 1 fits: two retries in the first step, none in the second.
    assert model.model.layers[1].mlp.refused == 2
    assert (parts.parts, parts.oom_retries, other.rows[-1]["robust/micro_batch"]) == (4, 2, 1.0)
    for name, tensor in weights(whole).items():
        torch.testing.assert_close(weights(parts)[name], tensor, rtol=1e-4, atol=1e-6)
    for one, two in zip(log.rows, other.rows, strict=True):
        for metric in ("loss", "grad_norm", "reward", "tt_opd/kl", "tt_opd/eligible_trajectories", "episode/success"):
            assert two[metric] == pytest.approx(one[metric], rel=1e-3, abs=1e-6), metric


def test_memory_that_runs_out_in_a_later_micro_batch_takes_the_whole_step_again(tmp_path: Path):
    changes = {"learning_rate": 1e-3, "micro_batch": 2}
    whole, log = build(tmp_path / "a", settings(1, optim=changes))
    whole.train()
    trainer, other = build(tmp_path / "b", settings(1, optim=changes))
    compute, failures = trainer._compute_loss, [2]

    def compute_loss(model: Any, inputs: Any) -> torch.Tensor:
        loss = compute(model, inputs)
        if trainer._step == 2 and failures and inputs["completion_ids"].size(0) == failures[0]:
            failures.pop()
            raise torch.OutOfMemoryError("out of memory in the third micro-batch")
        return loss

    trainer._compute_loss = compute_loss  # type: ignore[method-assign]
    trainer.train()
    assert (trainer.parts, failures) == (2, [])
    assert other.rows[0]["grad_norm"] == pytest.approx(log.rows[0]["grad_norm"], rel=1e-4)
    assert other.rows[0]["tt_opd/eligible_trajectories"] == log.rows[0]["tt_opd/eligible_trajectories"] == 8


def test_a_single_trajectory_that_does_not_fit_is_explained(tmp_path: Path):
    trainer, _ = build(tmp_path, settings(1), model=small(0))
    with pytest.raises(OutOfMemory, match=r"Lower rollout\.max_completion_tokens"):
        trainer.train()


def test_pieces_are_equal_and_keep_what_has_no_rows():
    inputs = {
        "completion_ids": torch.arange(12).view(6, 2), "num_items_in_batch": torch.tensor(9.0), "images": None,
    }  # fmt: skip
    pieces = cut(inputs, 3)
    assert [piece["completion_ids"].tolist() for piece in pieces][1] == [[4, 5], [6, 7]]
    assert [float(piece["num_items_in_batch"]) for piece in pieces] == [3.0, 3.0, 3.0]
    assert pieces[0]["images"] is None


class CrowdedSource:
    """Fails like a full device while more than `most` episodes are in flight."""

    def __init__(self, most: int) -> None:
        self.most, self.in_flight, self.on_trajectory = most, 64, None

    def sample(self, rows: list[EpisodeRow], *, seed: int, hints: Any = None) -> list[Any]:
        if min(self.in_flight, len(rows)) > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        for row in rows:
            if self.on_trajectory is not None:
                self.on_trajectory(row)
        return [(row.task_id, seed) for row in rows]

    def scripted(self, plans: Any) -> list[Any]:
        return list(plans)


def test_rollouts_that_run_out_of_memory_go_on_with_fewer_in_flight():
    source = ShrinkingSource(CrowdedSource(3))
    rows = make_rows(10)
    assert source.sample(rows, seed=5) == [(row.task_id, 5) for row in rows]
    # 10 rows in flight (of 64 allowed) fail, then 5, then 2 fit.
    assert source.metrics() == {"robust/rollout_oom_total": 2.0, "robust/in_flight": 2.0}
    with pytest.raises(OutOfMemory, match=r"with one in flight\. Lower rollout"):
        ShrinkingSource(CrowdedSource(0)).sample(rows, seed=5)


def test_finished_episodes_are_told_as_they_come():
    source = ShrinkingSource(CrowdedSource(99))
    told: list[tuple[int, int]] = []
    with source.telling(lambda done, total: told.append((done, total)), 3):
        source.sample(make_rows(3), seed=0)
    source.sample(make_rows(3), seed=0)
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]
