"""Between an engine of its own arithmetic and the trainer, each token is weighted by the truncated ratio of the two."""

import dataclasses
from collections.abc import Sequence
from math import log
from pathlib import Path

import pytest
import torch
from test_episode_trainer import settings
from tiny import YesEnvironment, make_model, make_rows, make_tokenizer

from healthgym.errors import HealthgymError
from healthgym.rollout import Trajectory
from healthgym.training.arguments import trl_arguments
from healthgym.training.rows import EpisodeRow
from healthgym.training.trainer import EpisodeTrainer


class OffEnvironment(YesEnvironment):
    """Tells log-probabilities of its own tokens that are lower than true by `gap` nats."""

    gap: float | None = 0.0

    def play(self, row: EpisodeRow, generator: torch.Generator) -> Trajectory:
        played = super().play(row, generator)
        if self.gap is None:
            return dataclasses.replace(played, logprobs=None)
        told = zip(played.logprobs or (), played.completion_mask, strict=True)
        return dataclasses.replace(played, logprobs=[logp - self.gap * own for logp, own in told])


def first_loss(folder: Path, gap: float | None, *, corrects: bool = True) -> tuple[float, torch.Tensor | None]:
    """Return the loss of the first batch, and the weights of the policy's tokens."""
    config, tokenizer = settings(steps=1, optim={"micro_batch": 8}), make_tokenizer()
    model = make_model(tokenizer)
    environment = OffEnvironment(tokenizer, model)
    environment.gap = gap
    trainer = EpisodeTrainer(
        model=model, args=trl_arguments(config, folder), tokenizer=tokenizer, rows=make_rows(2), collect=environment,
        corrects_engine=corrects,
    )  # fmt: skip
    trainer.model.train()
    trainer.current_gradient_accumulation_steps = 1
    inputs = trainer._generate_and_score_completions([row for row in _prompts(2) for _ in range(4)])
    ratio = inputs.get("importance_sampling_ratio")
    own = (inputs["completion_mask"] * inputs["tool_mask"]).bool()
    # The mean advantage of a group is zero, so weights alike on every token would go unseen: look at one sign alone.
    inputs["advantages"] = inputs["advantages"].abs() + 1
    return float(trainer._compute_loss(trainer.model, inputs).detach()), None if ratio is None else ratio[own]


def _prompts(count: int) -> Sequence[dict[str, str]]:
    return [{"prompt": row.to_prompt()} for row in make_rows(count)]


@pytest.mark.parametrize(("gap", "weight"), [(log(1.5), 1.5), (-log(2.0), 0.5), (log(20.0), 3.0)])
def test_an_engine_that_is_off_changes_the_loss_by_the_truncated_ratio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gap: float, weight: float
):
    # Trainer over engine: exp(log p - (log p - gap)) = exp(gap) on each token, cut at 3. Ratios to the old policy are 1,
    # so each token's loss is minus its advantage times that weight.
    monkeypatch.setattr("healthgym.training.trainer.MAX_SAMPLING_GAP", 9.0)
    exact, _ = first_loss(tmp_path / "exact", 0.0)
    off, ratio = first_loss(tmp_path / "off", gap)
    assert ratio is not None
    torch.testing.assert_close(ratio, torch.full_like(ratio, weight), rtol=1e-4, atol=1e-4)
    assert off == pytest.approx(weight * exact, rel=1e-4)


def test_an_engine_that_is_the_trainer_itself_needs_no_second_pass_and_gets_no_weights(tmp_path: Path):
    loss, ratio = first_loss(tmp_path, log(1.5), corrects=False)
    assert ratio is None
    assert loss == pytest.approx(first_loss(tmp_path, 0.0, corrects=False)[0])


def test_an_engine_without_logprobs_is_refused(tmp_path: Path):
    with pytest.raises(HealthgymError, match="without log-probabilities"):
        first_loss(tmp_path, None)
