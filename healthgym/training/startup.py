"""Refuses a run whose mechanisms would be configured and inert, or whose episodes could not succeed."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from healthgym.errors import ConfigError
from healthgym.training.config import RunConfig

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OracleLength:
    """Tokens an oracle's episode takes."""

    task_id: str
    prompt: int
    completion: int
    longest_turn: int


def check_settings(config: RunConfig) -> None:
    """Refuse settings under which a configured mechanism does nothing.

    Raises:
        ConfigError: Names the setting and the remedy.
    """
    teacher = config.teacher
    if teacher is None:
        return
    if teacher.update_when == "validation_improves" and not 0 < config.eval.every < config.optim.steps:
        raise ConfigError(
            f"teacher.update_when validation_improves needs evaluations within the run, but eval.every is {config.eval.every} "
            f"in a run of {config.optim.steps} steps, so the teacher would never move. Set eval.every."
        )
    if teacher.update_when == "kl_below" and config.guard.kl_high is None:
        raise ConfigError(
            "teacher.update_when kl_below needs guard.kl_high, which is null: nothing would ever hold the teacher back."
        )
    averages = bool(teacher.update_every) and teacher.ema_decay < 1.0
    if not averages and not teacher.copy_every:
        raise ConfigError(
            f"teacher.ema_decay {teacher.ema_decay} with update_every {teacher.update_every} and copy_every 0 never moves "
            "the teacher. Lower ema_decay, set copy_every, or set teacher: null."
        )
    if config.lambda_.start == 0.0:
        raise ConfigError("lambda.start 0 gives the teacher no say. Raise it, or set teacher: null.")
    for name in ("update_every", "copy_every"):
        every = getattr(teacher, name)
        if every > config.optim.steps and (name == "copy_every" or not teacher.copy_every):
            raise ConfigError(
                f"teacher.{name} {every} never comes in a run of {config.optim.steps} steps. Lower it, or set it to 0."
            )


def check_evaluation(config: RunConfig, is_measured: bool) -> None:
    """Refuse a teacher that waits for evaluations nobody makes.

    Args:
        config: The run's settings.
        is_measured: Whether the run was given a held-out measurement.

    Raises:
        ConfigError: There is none, and the teacher waits for it.
    """
    if config.teacher is not None and config.teacher.update_when == "validation_improves" and not is_measured:
        raise ConfigError(
            "teacher.update_when validation_improves needs a held-out measurement, and this run was given none. Start it "
            "with `healthgym train`, or pass evaluate= to train()."
        )


def check_lengths(config: RunConfig, lengths: Sequence[OracleLength], *, model_limit: int | None = None) -> None:
    """Refuse token limits under which not even the oracle could finish, which would earn zero reward in silence.

    Args:
        config: The run's settings.
        lengths: What the oracle's episodes take, for a sample of the run's tasks.
        model_limit: Positions the model has.

    Raises:
        ConfigError: No sampled task fits. Tasks that do not fit while others do are warned of.
    """
    rollout = config.rollout
    limits = [limit for limit in (rollout.max_context, model_limit) if limit is not None]
    context = min(limits, default=None)
    for setting, limit, need in (
        ("rollout.max_tokens_per_turn", rollout.max_tokens_per_turn, lambda one: one.longest_turn),
        ("rollout.max_completion_tokens", rollout.max_completion_tokens, lambda one: one.completion),
        ("rollout.max_context (or the model's own limit)", context, lambda one: one.prompt + one.completion),
    ):
        over = [need(one) for one in lengths if limit is not None and need(one) > limit]
        if over and len(over) == len(lengths):
            raise ConfigError(
                f"{setting} {limit} is too short: the oracle needs {min(over)} to {max(over)} tokens on every one of "
                f"{len(lengths)} sampled tasks, so no episode could succeed."
            )
        if over:
            logger.warning(
                "%s %s is too short for the oracle on %d of %d sampled tasks (up to %d tokens)",
                setting, limit, len(over), len(lengths), max(over),
            )  # fmt: skip


def check_distribution(config: RunConfig, sharding: str, *, fsdp_version: int = 2) -> None:
    """Refuse launches that shard the model in a way some part of the run cannot follow.

    Args:
        config: The run.
        sharding: What the launch shards with: none, fsdp or deepspeed.
        fsdp_version: Version of FSDP that it asks for.

    Raises:
        ConfigError: Names the part and the remedy.
    """
    if sharding == "fsdp" and fsdp_version != 2:
        raise ConfigError(
            f"This launch asks for version {fsdp_version} of FSDP, whose flat buffers neither teacher nor rollouts can read. "
            "Launch with fsdp_version: 2, as in recipes/accelerate/fsdp2.yaml."
        )
    if config.teacher is None:
        return
    if sharding != "none" and config.teacher.rank_factor > 1:
        raise ConfigError(
            f"teacher.rank_factor {config.teacher.rank_factor} gives the teacher wider adapters than the student's, which have "
            "no place among the student's shards. Set rank_factor: 1, or launch with recipes/accelerate/ddp.yaml."
        )
    if sharding != "deepspeed":
        return
    if config.divergence.kind in ("topk", "full"):
        raise ConfigError(
            f"divergence.kind {config.divergence.kind} applies the language-model head beside the model's forward pass, where "
            "DeepSpeed has taken its weight apart. Set divergence.kind: k3 or sampled, or launch with FSDP2 "
            "(recipes/accelerate/fsdp2.yaml)."
        )
    if config.lambda_.balance == "grad_norm":
        raise ConfigError(
            "lambda.balance grad_norm goes by the gradients of the two terms, which DeepSpeed reduces into buffers of its own, "
            "one with the other. Set lambda.balance: none, or launch with recipes/accelerate/fsdp2.yaml."
        )
    if config.guard.grad_norm_every:
        logger.warning(
            "guard.grad_norm_every: the gradient norms of the two terms are not measured under DeepSpeed, which reduces "
            "gradients into buffers of its own"
        )
