from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import PartialState
from tiny import YesEnvironment, make_model, make_rows, make_tokenizer
from transformers import TrainerCallback

from healthgym.errors import ConfigError, HealthgymError
from healthgym.rewards import CosineLength
from healthgym.training.arguments import rows_needed, trl_arguments
from healthgym.training.checkpoints import latest_checkpoint
from healthgym.training.config import RunConfig
from healthgym.training.distill_step import DistillStep
from healthgym.training.distillation import Distillation
from healthgym.training.guards import TeacherGuard
from healthgym.training.loading import make_config
from healthgym.training.schedule import Lambda
from healthgym.training.shaping import LengthShaping
from healthgym.training.teacher import LiveTeacher
from healthgym.training.teacher_context import HintRenderer
from healthgym.training.trainer import EpisodeTrainer


class Log(TrainerCallback):
    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **kwargs: Any) -> None:
        if logs and "loss" in logs:
            self.rows.append(dict(logs))


def settings(steps: int = 3, **changes: Any) -> RunConfig:
    optim = {
        "steps": steps, "tasks_per_step": 2, "num_generations": 4, "learning_rate": 1e-2, "micro_batch": 4,
        **changes.pop("optim", {}),
    }  # fmt: skip
    return make_config(
        {
            "preset": "tt_opd", "model": {"tiny": {}}, "optim": optim, "reward": {"length": None},
            "teacher": {"ema_decay": 0.5, "update_every": 1}, "lambda": {"shape": "constant", "start": 0.5},
            "guard": {"grad_norm_every": 1}, **changes,
        }
    )  # fmt: skip


def build(
    folder: Path, config: RunConfig, *, lora: bool = False, distilled: bool = True, fail_every: int = 0,
    shaping: LengthShaping | None = None, model: Any = None,
) -> tuple[EpisodeTrainer, Log]:  # fmt: skip
    tokenizer = make_tokenizer()
    model = model or make_model(tokenizer, lora=lora)
    distill = None
    if distilled:
        assert config.teacher
        teacher = LiveTeacher(model, decay=config.teacher.ema_decay, update_every=config.teacher.update_every)
        distillation = Distillation(
            teacher, HintRenderer(tokenizer, {}), hint=config.hint, turns=config.turns, divergence=config.divergence
        )
        distill = DistillStep(
            distillation,
            Lambda(config.lambda_.start, steps=config.optim.steps, shape=config.lambda_.shape),
            TeacherGuard(kl_high=0.7, kl_slope=0.03, window=8, max_age=9, max_distance=9.0, max_leakage=0.5),
            grad_norm_every=config.guard.grad_norm_every,
        )
    log = Log()
    trainer = EpisodeTrainer(
        model=model, args=trl_arguments(config, folder, processes=PartialState().num_processes), tokenizer=tokenizer, rows=make_rows(rows_needed(config)),
        collect=YesEnvironment(tokenizer, model, fail_every=fail_every), shaping=shaping, distill=distill,
        callbacks=[log], keep=config.checkpoint.keep,
    )  # fmt: skip
    return trainer, log


def weights(trainer: EpisodeTrainer) -> dict[str, torch.Tensor]:
    return {n: p.detach().clone() for n, p in trainer.model.named_parameters() if p.requires_grad}


def test_a_distilled_run_moves_student_and_teacher_and_says_so(tmp_path: Path):
    trainer, log = build(tmp_path, settings())
    before = weights(trainer)
    trainer.train()
    last = log.rows[-1]
    assert [row["tt_opd/teacher_updates"] for row in log.rows] == [1, 2, 3]
    assert last["tt_opd/hints_fired"] == 24
    assert last["tt_opd/kl"] > 0 and last["tt_opd/kl_turn_1"] > 0
    assert last["tt_opd/teacher_distance"] > 0 and last["tt_opd/teacher_age"] == 0
    assert last["tt_opd/grad_norm_policy"] > 0 and last["tt_opd/grad_norm_distillation"] > 0
    assert [row["sampling/importance_sampling_ratio/mean"] for row in log.rows] == pytest.approx([1.0] * 3, abs=1e-4)
    assert last["tools/call_frequency"] == 1.0 and "completions/mean_length" in last
    assert any(not torch.equal(before[name], tensor) for name, tensor in weights(trainer).items())


@pytest.mark.slow
def test_reinforcement_learning_raises_the_reward(tmp_path: Path):
    config = settings(steps=40, optim={"learning_rate": 3e-3, "num_generations": 8, "micro_batch": 16})
    _, log = trained(build(tmp_path, config, distilled=False))
    first = sum(row["episode/reward"] for row in log.rows[:5]) / 5
    last = sum(row["episode/reward"] for row in log.rows[-5:]) / 5
    assert last > first + 0.3


def trained(built: tuple[EpisodeTrainer, Log]) -> tuple[EpisodeTrainer, Log]:
    built[0].train()
    return built


def test_lambda_zero_is_plain_grpo_and_a_large_one_is_not(tmp_path: Path):
    plain, _ = trained(build(tmp_path / "a", settings(), distilled=False))
    zero, _ = trained(build(tmp_path / "b", settings(**{"lambda": {"start": 0.0}})))
    large, _ = trained(build(tmp_path / "c", settings(**{"lambda": {"start": 5.0, "shape": "constant"}})))
    for name, tensor in weights(plain).items():
        torch.testing.assert_close(weights(zero)[name], tensor)
    assert any((weights(large)[name] - tensor).abs().max() > 1e-4 for name, tensor in weights(plain).items())


@pytest.mark.parametrize("kind", ["k3", "topk"])
def test_micro_batches_add_up_to_the_whole_batch(tmp_path: Path, kind: str):
    config = {"divergence": {"kind": kind, "k": 6}, "lambda": {"start": 5.0}}
    optim = {"loss_type": "grpo", "learning_rate": 1e-3}
    whole, log = trained(build(tmp_path / "a", settings(1, optim={**optim, "micro_batch": 8}, **config)))
    parts, other = trained(build(tmp_path / "b", settings(1, optim={**optim, "micro_batch": 2}, **config)))
    assert log.rows[0]["grad_norm"] == pytest.approx(other.rows[0]["grad_norm"], rel=1e-4)
    assert log.rows[0]["tt_opd/kl"] == pytest.approx(other.rows[0]["tt_opd/kl"], rel=1e-4)
    assert parts.distill.distillation.teacher.ema.updates == 1
    assert whole.state.global_step == parts.state.global_step == 1


@pytest.mark.parametrize("lora", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_killed_run_continues_to_the_same_weights(tmp_path: Path, lora: bool):
    config = settings(steps=6, checkpoint={"every": 2, "keep": 9})
    whole, whole_log = trained(build(tmp_path / "whole", config, lora=lora, shaping=shaping()))

    class Kill(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if state.global_step == 5:
                raise KeyboardInterrupt

    killed, _ = build(tmp_path / "killed", config, lora=lora, shaping=shaping())
    killed.add_callback(Kill())
    with pytest.raises(KeyboardInterrupt):
        killed.train()
    resumed, log = build(tmp_path / "killed", config, lora=lora, shaping=shaping())
    found = latest_checkpoint(tmp_path / "killed")
    assert found and found.name == "checkpoint-4"
    resumed.train(resume_from_checkpoint=str(found))
    assert all(torch.equal(tensor, weights(resumed)[name]) for name, tensor in weights(whole).items())
    ours, theirs = (t.distill.distillation.teacher.ema.weights for t in (whole, resumed))
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in ours.items())
    skipped = {"step_time", "train_runtime"}
    assert [{k: v for k, v in row.items() if k not in skipped} for row in log.rows] == [
        {k: v for k, v in row.items() if k not in skipped} for row in whole_log.rows[4:]
    ]


def test_adapters_held_to_a_reference_resume_where_they_were(tmp_path: Path):
    config = settings(steps=2, optim={"beta": 0.1}, checkpoint={"every": 1, "keep": 9})
    whole, _ = trained(build(tmp_path, config, lora=True, distilled=False))
    resumed, _ = build(tmp_path, config, lora=True, distilled=False)
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-1"))
    assert all(torch.equal(tensor, weights(resumed)[name]) for name, tensor in weights(whole).items())


def shaping() -> LengthShaping:
    return LengthShaping(CosineLength(limit=40), start_success=0.05)


def test_failed_episodes_are_excluded_and_counted_never_scored(tmp_path: Path):
    _, log = trained(build(tmp_path, settings(steps=1), fail_every=4))
    assert log.rows[0]["episode/unscored"] == 2
    assert log.rows[0]["episode/infrastructure_failures_total"] == 2
    assert log.rows[0]["tt_opd/hints_unknown"] == 2


def test_length_shaping_reaches_the_reward_the_trainer_sees(tmp_path: Path):
    always = LengthShaping(CosineLength(limit=1), start_success=0.0)  # every episode is over the limit: -0.5
    _, log = trained(build(tmp_path, settings(steps=1), distilled=False, shaping=always))
    assert log.rows[0]["reward"] == -0.5 and log.rows[0]["episode/length_shaping"] == 1.0
    assert log.rows[0]["episode/dead_group_share"] == 1.0


def test_length_shaping_is_logged_from_the_first_step_whose_rewards_it_shaped(tmp_path: Path):
    shaping = LengthShaping(CosineLength(limit=1), start_success=0.5, smoothing=0.0)
    observe = shaping.observe
    shaping.observe = lambda success: observe(1.0)  # type: ignore[method-assign]
    _, log = trained(build(tmp_path, settings(steps=2), distilled=False, shaping=shaping))
    assert log.rows[0]["reward"] >= 0 and log.rows[0]["episode/length_shaping"] == 0.0
    assert log.rows[1]["reward"] == -0.5 and log.rows[1]["episode/length_shaping"] == 1.0


def test_an_engine_that_samples_from_other_weights_is_caught(tmp_path: Path):
    trainer, _ = build(tmp_path, settings(steps=1), distilled=False)
    trainer.collect = YesEnvironment(trainer.processing_class, sharp(make_model(trainer.processing_class, seed=7)))
    with pytest.raises(HealthgymError, match="other weights"):
        trainer.train()


def sharp(model: Any) -> Any:
    with torch.no_grad():
        model.model.embed_tokens.weight.mul_(60.0)
    return model


def test_batches_that_cannot_be_cut_are_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match="3 processes"):
        trl_arguments(settings(optim={"micro_batch": None}), tmp_path, processes=3)
    with pytest.raises(ConfigError, match="num_iterations"):
        trl_arguments(settings(steps=4, optim={"num_iterations": 2}, checkpoint={"every": 3}), tmp_path)


def test_hints_that_no_episode_can_carry_stop_the_first_step(tmp_path: Path):
    trainer, _ = build(tmp_path, settings(steps=1))
    trainer.distill.distillation.hints_of = lambda trajectories: [None] * len(trajectories)
    with pytest.raises(ConfigError, match="not one of the first step"):
        trainer.train()


def test_turns_that_never_count_stop_the_first_step(tmp_path: Path):
    trainer, _ = build(tmp_path, settings(steps=1))
    trainer.distill.distillation.max_context = 1
    with pytest.raises(ConfigError, match="no turn of the first step"):
        trainer.train()
