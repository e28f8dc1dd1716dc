"""Steps with NaN or infinity: skipped, counted, and the end of a run when they do not stop."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from test_episode_trainer import build, settings, weights

from healthgym.training.bad_steps import TrainingDiverged
from healthgym.training.callbacks import StepLog
from healthgym.training.run_folder import RunFolder
from healthgym.training.trainer import EpisodeTrainer


def poisoned(trainer: EpisodeTrainer, *steps: int, gradient: bool = False) -> None:
    """Make the loss (or only its gradient) NaN in the given optimiser steps, counted from 0."""
    compute = trainer._compute_loss

    def compute_loss(model: Any, inputs: Any) -> torch.Tensor:
        loss = compute(model, inputs)
        if trainer.state.global_step in steps:
            # 0 * sqrt(0) is 0 with an infinite slope times 0: a finite value whose gradient is NaN.
            return loss + (0.0 * (loss - loss.detach()).abs().sqrt() if gradient else loss * math.nan)
        return loss

    trainer._compute_loss = compute_loss  # type: ignore[method-assign]


@pytest.mark.parametrize("gradient", [False, True])
def test_a_bad_step_leaves_weights_moments_and_teacher_alone_and_is_counted(tmp_path: Path, gradient: bool):
    trainer, _ = build(tmp_path, settings(steps=3, optim={"weight_decay": 0.1}))
    poisoned(trainer, 1, gradient=gradient)
    folder = RunFolder(tmp_path / "run")
    step_log = StepLog(folder, [])
    trainer.add_callback(step_log)
    seen: list[Any] = []
    finish = trainer.finish_step

    def finish_step() -> bool:
        done = finish()
        moments = [state["exp_avg"].clone() for state in trainer.optimizer.state.values()]
        seen.append((weights(trainer), moments, trainer.distill.distillation.teacher.state_dict()["updates"]))
        return done

    trainer.finish_step = finish_step  # type: ignore[method-assign]
    trainer.train()
    first, second, third = seen
    assert all(torch.equal(tensor, second[0][name]) for name, tensor in first[0].items())
    assert all(torch.equal(a, b) for a, b in zip(first[1], second[1], strict=True))
    assert [updates for *_, updates in seen] == [1, 1, 2]
    assert any(not torch.equal(tensor, third[0][name]) for name, tensor in second[0].items())
    rows = folder.metrics()
    assert [row["robust/bad_step"] for row in rows] == [0, 1, 0]
    assert rows[-1]["robust/bad_steps_total"] == 1
    assert all(math.isfinite(value) for row in rows for value in row.values())
    assert rows[2]["loss"] != 0.0  # the running sum of losses was not spoilt


def test_a_step_whose_log_probabilities_are_nan_is_skipped_like_any_other(tmp_path: Path):
    trainer, _ = build(tmp_path, settings(steps=3))
    score = trainer._get_per_token_logps_and_entropies

    def scores(model: Any, *args: Any, **kwargs: Any) -> Any:
        logps, entropies, rest = score(model, *args, **kwargs)
        broken = trainer.state.global_step == 1 and entropies is not None  # the student's own forward pass
        return (logps * math.nan, entropies * math.nan, rest) if broken else (logps, entropies, rest)

    trainer._get_per_token_logps_and_entropies = scores  # type: ignore[method-assign]
    folder = RunFolder(tmp_path / "run")
    trainer.add_callback(StepLog(folder, []))
    trainer.train()
    rows = folder.metrics()
    assert [row["robust/bad_step"] for row in rows] == [0, 1, 0]
    assert "entropy" in rows[0] and "entropy" not in rows[1]
    assert all(math.isfinite(value) for row in rows for value in row.values())


def test_bad_steps_in_a_row_stop_the_run_and_save_nothing(tmp_path: Path):
    config = settings(steps=6, checkpoint={"every": 1}, robust={"max_bad_steps": 2})
    trainer, _ = build(tmp_path, config)
    trainer.bad_steps.most = 2
    poisoned(trainer, 1, 3, 4, 5)
    with pytest.raises(TrainingDiverged, match=r"Steps 4 to 5 .*every checkpoint holds sound weights"):
        trainer.train()
    assert all(bool(torch.isfinite(tensor).all()) for tensor in weights(trainer).values())
    # A bad step among good ones is saved like any other: the weights are those of the step before. The last is not.
    assert sorted(path.name for path in tmp_path.glob("checkpoint-*")) == ["checkpoint-3", "checkpoint-4"]
