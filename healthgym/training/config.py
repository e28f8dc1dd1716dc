"""One run's settings: small, frozen, nested, importable without torch.

Every field is described beside it. Values come from three layers, later ones winning: the preset's defaults, the recipe
file, and `--set a.b=c` overrides. See `healthgym.training.loading` for reading them.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
NotNegative = Annotated[float, Field(ge=0.0)]
Count = Annotated[int, Field(ge=1)]
Steps = Annotated[int, Field(ge=0)]

PresetName = Literal["grpo", "grpo_cosine", "opd_copy", "opd_ema", "opd_ema_hints", "tt_opd", "tt_opd_paper"]


class Section(BaseModel):
    """A frozen group of settings that refuses keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, use_attribute_docstrings=True)


class TinyModel(Section):
    """A small Qwen3-architecture model built from scratch, with a tokenizer trained on the run's own tasks."""

    layers: Count = 2
    hidden_size: Count = 128
    intermediate_size: Count = 384
    heads: Count = 4
    kv_heads: Count = 2
    vocab_size: Annotated[int, Field(ge=300)] = 2048
    max_positions: Count = 4096


class Lora(Section):
    """Low-rank adapters on a frozen base."""

    rank: Count = 16
    alpha: Positive = 32.0
    dropout: Share = 0.0
    target_modules: str | tuple[str, ...] = "all-linear"


class Model(Section):
    """The model to train: a folder or hub name, or a tiny one from scratch."""

    path: str | None = None
    tiny: TinyModel | None = None
    lora: Lora | None = None
    dtype: Literal["float32", "bfloat16"] = "float32"
    attention: Literal["sdpa", "eager", "flash_attention_2"] = "sdpa"

    @model_validator(mode="after")
    def _one_source(self) -> "Model":
        if (self.path is None) == (self.tiny is None):
            raise ValueError("give exactly one of model.path and model.tiny")
        return self


class Env(Section):
    """Which tasks are practised, and how they are shown."""

    domains: Annotated[tuple[str, ...], Field(min_length=1)] = ("triage_emergency",)
    split: Literal["train", "val", "test", "test_ood"] = "train"
    families: tuple[str, ...] = ()
    """Only these task families; empty means all."""
    tasks: Steps = 0
    """Use this many tasks, drawn with the run's seed; 0 uses all of the split."""
    prompt_profile: Literal["full", "compact", "bare"] = "full"
    max_turns: Count | None = None
    """Lowers the tasks' own limit."""
    index: str | None = None
    """Folder of a passage index for the look-up tools; None gives them the services the run was started with."""
    exclude: str | None = None
    """File of passage ids that this index never returns, as `healthgym kb audit` writes it."""

    @model_validator(mode="after")
    def _exclude_needs_an_index(self) -> "Env":
        if self.exclude is not None and self.index is None:
            raise ValueError("env.exclude lists passages of the index in env.index; give that folder too")
        return self


class Length(Section):
    """Cosine length shaping of the reward."""

    limit: Count | None = None
    """Assistant tokens at which the penalty begins; None takes rollout.max_completion_tokens."""
    start_success: Share = 0.3
    """Shaping begins once smoothed success passes this, and then stays on; 0 shapes from the start."""


class Reward(Section):
    """How a graded episode becomes one number."""

    preset: Literal["gated", "paper"] = "gated"
    weights: dict[str, NotNegative] | None = None
    """By score; None takes the preset's own."""
    length: Length | None = None


class Rollout(Section):
    """How episodes are sampled."""

    engine: Literal["transformers"] = "transformers"
    max_tokens_per_turn: Count = 256
    max_completion_tokens: Count = 1024
    """Budget of one episode after its prompt, tool output included."""
    max_context: Count | None = None
    """Prompt and completion together; None takes the model's own limit."""
    temperature: Positive = 1.0
    in_flight: Count = 64
    """Episodes that advance together."""
    trace_every: Steps = 10
    """Steps between saved traces, 0 for none."""


class Optim(Section):
    """The policy-gradient step."""

    steps: Count = 100
    learning_rate: Positive = 1e-6
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup_steps: Steps = 0
    weight_decay: NotNegative = 0.0
    tasks_per_step: Count = 8
    num_generations: Annotated[int, Field(ge=2)] = 8
    """Attempts at each task: the group whose mean is the baseline."""
    micro_batch: Count | None = None
    """Trajectories per forward pass of one process; None takes tasks_per_step * num_generations in one."""
    num_iterations: Count = 1
    """Passes over each batch of trajectories."""
    loss_type: Literal["grpo", "bnpo", "dr_grpo", "dapo"] = "dapo"
    importance_level: Literal["token", "sequence"] = "token"
    scale_advantages: bool = True
    beta: NotNegative = 0.0
    """Weight of the KL to the starting model."""
    epsilon: Positive = 0.2
    epsilon_high: Positive | None = None
    max_grad_norm: Positive = 1.0
    gradient_checkpointing: bool = False


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
    update_when: Literal["always", "kl_below"] = "always"
    """kl_below: no average while the smoothed divergence is above guard.kl_high."""
    device: str | None = None
    """Where the averages are kept; None leaves them beside the student."""


class Hint(Section):
    """What the teacher is told about each attempt."""

    level: Literal["outcome", "process", "answer"] = "process"
    where: Literal["prompt", "every_turn"] = "prompt"
    require_probe: bool = False
    """Refuse to train when the hint probe finds no gain; otherwise hints are switched off with a warning."""
    probe_every: Steps = 0
    """Steps between hint probes, 0 for the first only."""
    probe_tasks: Steps = 32
    """Failed tasks a probe resamples; 0 makes no probe."""


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
    """How student and teacher are compared at each token."""

    kind: Literal["sampled", "k3", "topk", "full"] = "topk"
    direction: Literal["reverse", "forward", "jsd"] = "reverse"
    """Of topk and full; sampled and k3 estimate the reverse divergence."""
    beta: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.5
    """Teacher's share of the mixture in jsd."""
    k: Count = 64
    clip: Positive | None = 10.0
    """Bound on one token's divergence, in nats."""
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


class Guard(Section):
    """Limits that make the run protect itself. Lowering lambda is for good."""

    kl_high: Positive | None = 0.7
    """Smoothed divergence, in nats, above which lambda is lowered; None never lowers it."""
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


class WarmStart(Section):
    """Supervised steps on demonstrations before reinforcement learning."""

    demonstrations: Count = 1000
    steps: Count = 300
    learning_rate: Positive = 2e-3
    batch_size: Count = 64
    hinted_share: Share = 0.0
    """Share of the examples that are corrective pairs: the hint of a failed attempt, then a trace that fixes just that."""
    skip_evidence: tuple[Share, Share] = (0.0, 0.0)
    """Range of the chance that a demonstration skips a call of the oracle's."""
    wrong_answer: tuple[Share, Share] = (0.0, 0.0)
    """Range of the chance that a demonstration submits another task's answer."""


class Evaluation(Section):
    """Held-out measurement during the run."""

    every: Steps = 0
    """Steps between evaluations, 0 for none."""


class Checkpoint(Section):
    """What can be resumed."""

    every: Steps = 50
    """Steps between checkpoints, 0 for the last step only."""
    keep: Count = 2


class RunConfig(Section):
    """Everything one run is made of."""

    preset: PresetName = "tt_opd"
    seed: int = 0
    model: Model
    env: Env = Env()
    reward: Reward = Reward()
    rollout: Rollout = Rollout()
    optim: Optim = Optim()
    teacher: Teacher | None = None
    hint: Hint | None = None
    turns: Turns = Turns()
    divergence: Divergence = Divergence()
    lambda_: LambdaDecay = Field(default=LambdaDecay(), alias="lambda")
    guard: Guard = Guard()
    warm_start: WarmStart | None = None
    eval: Evaluation = Evaluation()
    checkpoint: Checkpoint = Checkpoint()

    @model_validator(mode="after")
    def _sections_agree(self) -> "RunConfig":
        if self.hint is not None and self.teacher is None:
            raise ValueError("hint is set but teacher is null: nobody would read the hints")
        if self.teacher is not None and self.teacher.space == "delta" and self.model.lora is None:
            raise ValueError("teacher.space delta averages LoRA products, but model.lora is null")
        batch = self.optim.tasks_per_step * self.optim.num_generations
        if self.optim.micro_batch and batch % self.optim.micro_batch:
            raise ValueError(
                f"optim.micro_batch {self.optim.micro_batch} must divide tasks_per_step * num_generations = {batch}"
            )
        return self
