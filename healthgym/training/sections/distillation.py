"""What the teacher is, what it is told, and how its view enters the loss."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from healthgym.training.sections.base import Count, NotNegative, Positive, Section, Share, Steps


class Teacher(Section):
    """How the distillation teacher follows the student."""

    ema_decay: Share = 0.995
    """Share of the teacher kept at each update."""
    update_every: Steps = 5
    """Optimiser steps between averages, 0 for never."""
    copy_every: Steps = 0
    """Optimiser steps between hard copies of the student, 0 for never."""
    space: Literal["factors", "delta"] = "factors"
    """Average LoRA factors, or their product."""
    rank_factor: Literal[1, 2] = 1
    """Rank of the teacher's adapters in units of the student's; 2 only with space delta."""
    update_when: Literal["always", "kl_below", "validation_improves"] = "always"
    """kl_below: no move while the smoothed divergence is above guard.kl_high. validation_improves: moves only between an
    evaluation that beat the best so far and the next evaluation."""
    device: str | None = None
    """Where the averages are kept; None leaves them beside the student."""

    @model_validator(mode="after")
    def _wider_adapters_are_products(self) -> "Teacher":
        if self.rank_factor > 1 and self.space != "delta":
            raise ValueError(
                f"teacher.rank_factor {self.rank_factor} needs teacher.space delta: averaged factors keep the student's rank"
            )
        return self


class Hint(Section):
    """What the teacher is told about each attempt."""

    level: Literal["outcome", "process", "answer"] = "process"
    where: Literal["prompt", "every_turn"] = "prompt"
    contrast: bool = False
    """Also read a wrong hint and none, and keep of the hint only what the wrong one lacks; two more teacher passes."""
    shuffle: bool = False
    """A control: the teacher is told about another attempt of the batch."""
    require_probe: bool = False
    """Refuse to train when the hint probe finds no gain; otherwise hints are switched off with a warning."""
    probe_every: Steps = 0
    """Steps between hint probes, 0 for the first only."""
    probe_tasks: Steps = 32
    """Failed tasks a probe resamples; 0 makes no probe."""

    @model_validator(mode="after")
    def _contrast_of_the_right_hint(self) -> "Hint":
        if self.contrast and self.shuffle:
            raise ValueError("hint.contrast compares the right hint with a wrong one; hint.shuffle leaves no right one")
        return self

    @model_validator(mode="after")
    def _required_probe_is_made(self) -> "Hint":
        if self.require_probe and not self.probe_tasks:
            raise ValueError(
                "hint.require_probe asks for a probe, and hint.probe_tasks 0 makes none: raise it, or set require_probe: false"
            )
        return self


class Turns(Section):
    """Which turns the teacher speaks to."""

    start: Count = 1
    """Leading turns that count at step 0."""
    grow_every: Steps = 10
    """Steps until one more turn counts; 0 keeps `start`."""
    max: Count = 32
    tokens_per_turn: Steps = 0
    """Leading tokens of a turn that count; 0 for all."""
    weights: Literal["uniform", "decay", "first"] = "uniform"
    gamma: Annotated[float, Field(gt=0.0, le=1.0)] = 0.9
    stop_kl: Positive | None = None
    """No turn counts after the first whose mean divergence exceeds this."""


class Divergence(Section):
    """How student and teacher are compared at each token, and what the comparison does."""

    mode: Literal["term", "rl_sign"] = "term"
    """term: D(tau) joins the loss. rl_sign: the reward alone gives each token's advantage its sign, and the ratio of teacher
    to student its size."""
    ratio_clip: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.5
    """Of rl_sign: the factor on an advantage stays within 1 - ratio_clip and 1 + ratio_clip."""
    kind: Literal["sampled", "k3", "topk", "full"] = "topk"
    direction: Literal["reverse", "forward", "jsd"] = "reverse"
    """Of topk and full; sampled and k3 estimate the reverse divergence (as a loss, k3 descends the forward one)."""
    beta: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.5
    """Teacher's share of the mixture in jsd."""
    k: Count = 64
    clip: Positive | None = 10.0
    """Bound on one token's divergence, in nats. Past it a token of k3, topk and full has no gradient."""
    chunk_size: Count = 64
    """Positions whose full-vocabulary logits exist at once."""

    @model_validator(mode="after")
    def _direction_needs_distributions(self) -> "Divergence":
        if self.kind in ("sampled", "k3") and self.direction != "reverse":
            raise ValueError(
                f"direction {self.direction} needs kind topk or full; {self.kind} estimates the reverse one"
            )
        return self


class LambdaDecay(Section):
    """The weight of the distillation term."""

    start: NotNegative = 0.5
    shape: Literal["constant", "linear", "cosine"] = "cosine"
    steps: Steps = 0
    """Step at which linear and cosine reach zero; 0 takes optim.steps."""
    balance: Literal["none", "grad_norm"] = "none"
    """grad_norm: below the scheduled ceiling, hold the distillation gradient at `ratio` times the policy gradient."""
    ratio: Positive = 0.5


class Guard(Section):
    """Limits that make the run protect itself. Lowering lambda is for good."""

    kl_high: Positive | None = 0.7
    """Smoothed divergence, in nats, above which lambda is lowered; None never lowers it, whatever else is found."""
    ratchet: Share = 0.5
    """Lambda's new ceiling as a share of its present value."""
    cooldown: Count = 5
    kl_slope: Positive = 0.03
    window: Annotated[int, Field(ge=3)] = 8
    max_age: Count = 100
    max_distance: Positive = 0.3
    max_leakage: Share = 0.02
    grad_norm_every: Steps = 10
    """Steps between measurements of the two gradient norms, each costing two extra backward passes; 0 for none."""
    leakage_every: Steps = 10
    """Steps between readings of another attempt's hint, each costing a teacher pass; 0 for none."""
    stop_on_collapse: bool = False
    """End the run, with a checkpoint, once its log is judged collapsed."""
