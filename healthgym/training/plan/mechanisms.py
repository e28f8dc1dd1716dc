"""Which of a run's mechanisms will act, and which are switched off."""

from dataclasses import dataclass

from healthgym.training.config import RunConfig


@dataclass(frozen=True)
class Mechanism:
    """One mechanism of the training."""

    name: str
    is_live: bool
    detail: str
    """What it will do, or what would switch it on."""


def mechanisms(config: RunConfig) -> list[Mechanism]:
    """Return every mechanism of a run in the order in which a step meets them."""
    taught = config.teacher is not None
    found = [_warm_start(config), _length(config), _reference(config), *_teacher(config)]
    found.append(_hints(config))
    guard, weight = config.guard, config.lambda_
    shape = (
        "constant" if weight.shape == "constant" else f"{weight.shape} to zero at {weight.steps or config.optim.steps}"
    )
    found.append(Mechanism("lambda", taught, f"{weight.start:g}, {shape}" if taught else "teacher is off"))
    ratchet = f"lambda times {guard.ratchet:g} above {guard.kl_high} nats" if guard.kl_high else "set guard.kl_high"
    found.append(Mechanism("guards", taught and guard.kl_high is not None, ratchet if taught else "teacher is off"))
    measured = taught and bool(guard.grad_norm_every)
    detail = f"every {guard.grad_norm_every} steps" if measured else "set guard.grad_norm_every"
    found.append(Mechanism("gradient norms apart", measured, detail if taught else "teacher is off"))
    bucketed, checkpointed = config.optim.bucket_by_length, config.optim.gradient_checkpointing
    found.append(Mechanism("length buckets", bucketed, "" if bucketed else "set optim.bucket_by_length"))
    found.append(
        Mechanism("gradient checkpointing", checkpointed, "" if checkpointed else "set optim.gradient_checkpointing")
    )
    every = config.eval.every
    found.append(Mechanism("held-out evaluation", bool(every), f"every {every} steps" if every else "set eval.every"))
    return found


def _warm_start(config: RunConfig) -> Mechanism:
    warm = config.warm_start
    if warm is None:
        return Mechanism("warm start", False, "set warm_start")
    hinted = f", {warm.hinted_share:.0%} with hints" if warm.hinted_share else ""
    return Mechanism("warm start", True, f"{warm.steps} steps on {warm.demonstrations} demonstrations{hinted}")


def _length(config: RunConfig) -> Mechanism:
    length = config.reward.length
    if length is None:
        return Mechanism("length shaping", False, "set reward.length")
    limit = length.limit or config.rollout.max_completion_tokens
    since = f"once success passes {length.start_success:g}" if length.start_success else "from the first step"
    return Mechanism("length shaping", True, f"cosine up to {limit} tokens, {since}")


def _reference(config: RunConfig) -> Mechanism:
    beta = config.optim.beta
    return Mechanism("reference KL", beta > 0, f"beta {beta:g}" if beta else "set optim.beta")


def _teacher(config: RunConfig) -> list[Mechanism]:
    teacher, turns = config.teacher, config.turns
    if teacher is None:
        return [Mechanism(name, False, "set teacher") for name in ("teacher", "divergence", "truncation by turns")]
    moves = []
    if teacher.update_every and teacher.ema_decay < 1:
        moves.append(f"average {teacher.ema_decay:g} every {teacher.update_every} steps")
    if teacher.copy_every:
        moves.append(f"copy every {teacher.copy_every} steps")
    divergence = config.divergence
    size = f" {divergence.k}" if divergence.kind == "topk" else ""
    grows = turns.grow_every > 0 and turns.max > turns.start
    last = turns.max if grows else min(turns.start, turns.max)
    # A limit that no episode reaches is no truncation.
    truncates = config.env.max_turns is None or turns.start < config.env.max_turns
    extent = f"first {turns.start}, one more every {turns.grow_every} steps up to {last}" if grows else f"first {last}"
    return [
        Mechanism("teacher", True, "; ".join(moves)),
        Mechanism("divergence", True, f"{divergence.kind}{size}, {divergence.direction}"),
        Mechanism("truncation by turns", truncates, extent),
    ]


def _hints(config: RunConfig) -> Mechanism:
    hint = config.hint
    if hint is None:
        return Mechanism("hints", False, "set hint")
    probe = f"; probed on {hint.probe_tasks} tasks first" if hint.probe_tasks else ""
    return Mechanism("hints", True, f"{hint.level}, {hint.where}{probe}")
