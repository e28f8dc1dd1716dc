"""One run's settings: small, frozen, nested, importable without torch.

Every field is described beside it. Values come from three layers, later ones winning: the preset's defaults, the recipe
file, and `--set a.b=c` overrides. See `healthgym.training.loading` for reading them.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
NotNegative = Annotated[float, Field(ge=0.0)]
Count = Annotated[int, Field(ge=1)]
Steps = Annotated[int, Field(ge=0)]

PresetName = Literal[
    "grpo", "grpo_cosine", "opd_copy", "opd_ema", "opd_ema_hints", "tt_opd", "tt_opd_paper", "tt_opd_no_hints",
    "tt_opd_shuffled", "sft_hinted",
]  # fmt: skip


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


class Curriculum(Section):
    """Which task each group practises, decided when its step comes, by how the run has gone so far."""

    difficulty: bool = False
    """Open the difficulty levels one after another, and prefer those that are neither solved nor hopeless."""
    unlock_success: Share = 0.4
    """The next level opens once smoothed success on the hardest open one passes this."""
    domains: Literal["natural", "balanced"] = "natural"
    """balanced: every domain as often as any other, whatever its number of tasks."""
    tools: bool = False
    """Prefer tasks whose solutions use tools that were rarely called so far."""
    smoothing: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.9
    """Weight of the past in the running success of a level and the running counts of tool calls."""


class Env(Section):
    """Which tasks are practised, and how they are shown."""

    domains: Annotated[tuple[str, ...], Field(min_length=1)] = ("triage_emergency",)
    split: Literal["train", "val", "test", "test_ood"] = "train"
    families: tuple[str, ...] = ()
    """Only these task families; empty means all."""
    tasks: Steps = 0
    """Use this many tasks, drawn with the run's seed; 0 uses all of the split."""
    per_family: dict[Literal["train", "val", "test", "test_ood"], Count] = {}
    """Tasks of every family by split, past the frozen ones if need be; splits not named keep their frozen counts."""
    prompt_profile: Literal["full", "compact", "bare"] = "full"
    max_turns: Count | None = None
    """Lowers the tasks' own limit."""
    curriculum: Curriculum | None = None
    """None meets every task in shuffled passes."""
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


class VLLM(Section):
    """Settings of the vLLM engine."""

    mode: Literal["colocate", "server"] = "colocate"
    """In a process beside the trainer on the same device, or behind the servers at `urls`."""
    urls: tuple[str, ...] = ()
    """Servers started with `healthgym vllm-serve`; all get the same weights, and turns are shared out among them."""
    weights_folder: str | None = None
    """Where weights pass from trainer to server: a folder both see under this path. None takes a temporary folder."""
    dtype: Literal["float32", "bfloat16"] | None = None
    """What a colocated engine computes in; None takes model.dtype."""
    gpu_memory_utilization: Annotated[float, Field(gt=0.0, le=1.0)] = 0.3
    """Share of the device's memory a colocated engine may take; the trainer needs the rest."""
    kv_cache_gb: Positive | None = None
    """Memory of a colocated engine's cache in GiB, instead of what gpu_memory_utilization leaves."""
    tensor_parallel_size: Count = 1
    """GPUs that share one colocated engine; more than 1 needs a single training process."""
    max_model_len: Count | None = None
    """Positions of a colocated engine; None takes rollout.max_context or the model's own."""
    enforce_eager: bool = False
    """Start a colocated engine without compiling: sooner ready, slower after."""
    sync: Literal["auto", "weights", "adapter"] = "auto"
    """Push merged weights, or LoRA adapters alone; auto pushes adapters where model.lora is set and teacher.rank_factor is 1."""
    sleep: bool = False
    """A colocated engine gives its GPU memory back while the trainer updates."""
    restarts: Steps = 3
    """How often a dead engine is revived before the run gives up."""
    timeout_s: Positive = 600.0
    """How long a server may take to come up, to answer, or to come back."""

    @model_validator(mode="after")
    def _urls_belong_to_servers(self) -> "VLLM":
        if self.mode == "server" and not self.urls:
            raise ValueError("mode server needs urls, for instance [http://127.0.0.1:8000]; see healthgym vllm-serve")
        if self.mode == "colocate" and self.urls:
            raise ValueError("urls are for mode server; mode is colocate")
        return self


class Rollout(Section):
    """How episodes are sampled."""

    engine: Literal["transformers", "vllm"] = "transformers"
    vllm: VLLM = VLLM()
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
    bucket_by_length: bool = False
    """Micro-batches of trajectories of similar length, without the columns that are padding in all of them."""
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

    @model_validator(mode="after")
    def _buckets_keep_the_loss(self) -> "Optim":
        if self.bucket_by_length and self.loss_type == "bnpo":
            raise ValueError(
                "bucket_by_length would change the loss of loss_type bnpo, which each micro-batch normalises by its own "
                "tokens: use dapo, grpo or dr_grpo"
            )
        return self


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
    balance: Literal["none", "grad_norm"] = "none"
    """grad_norm: below the scheduled ceiling, hold the distillation gradient at `ratio` times the policy gradient."""
    ratio: Positive = 0.5


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
    leakage_every: Steps = 10
    """Steps between readings of another attempt's hint, each costing a teacher pass; 0 for none."""
    stop_on_collapse: bool = False
    """End the run, with a checkpoint, once its log is judged collapsed."""


class Supervised(Section):
    """A control: instead of reinforcement, supervised steps on traces that mend the policy's own failures.

    Each step samples as many episodes as reinforcement would, and trains on as many sequences: a success as it is, a failure
    replaced by the corrective trace its hint would ask for. No hint is in their context.
    """


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


class Best(Section):
    """Which checkpoint is the best: the earliest on the plateau of a held-out metric that has not degenerated.

    It is named in best.json, its model is laid into best/, and rotation leaves it. Evaluations make it: see eval.every.
    """

    metric: str = "eval/success"
    margin: NotNegative | None = None
    """How far below the maximum the plateau reaches; None takes one standard error of the maximum."""
    max_clipped: Share | None = 0.25
    """No checkpoint more of whose held-out episodes were cut off by a token limit."""
    max_degenerate: Share | None = 0.1
    """No checkpoint more of whose held-out episodes hold degenerate text."""
    max_single_turn: Share | None = 0.5
    """No checkpoint more of whose held-out episodes end in their first turn."""


class Checkpoint(Section):
    """What can be resumed."""

    every: Steps = 50
    """Steps between checkpoints, 0 for the last step only."""
    keep: Count = 2
    best: Best | None = Best()
    """Keeps the best one too; null keeps none."""


class Robust(Section):
    """What a run endures."""

    max_bad_steps: Count = 5
    """Steps in a row with a loss or gradient that is not finite, each skipped, after which the run stops."""
    dead_group_share: Annotated[float, Field(gt=0.0, le=1.0)] = 0.95
    """Share of groups without spread of reward that counts as nothing left to learn from."""
    dead_group_steps: Steps = 20
    """Steps in a row at that share after which a finding is reported, 0 for never."""
    dead_group_stop: bool = False
    """End the run with that finding, model and checkpoint saved."""


Reporter = Literal["tensorboard", "trackio", "wandb"]


class Log(Section):
    """Where the metrics go besides RUN_DIR/metrics.jsonl."""

    report_to: tuple[Reporter, ...] = ()
    """Any of tensorboard (writes to RUN_DIR/tensorboard), trackio and wandb; none for none of them."""
    run_name: str | None = None
    """Name shown there; None takes the run folder's."""
    project: str = "healthgym"

    @field_validator("report_to", mode="before")
    @classmethod
    def _one_or_many(cls, value: object) -> object:
        if isinstance(value, str) or value is None:
            return () if value in ("none", None) else (value,)
        return () if value == ["none"] else value


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
    supervised: Supervised | None = None
    warm_start: WarmStart | None = None
    eval: Evaluation = Evaluation()
    checkpoint: Checkpoint = Checkpoint()
    robust: Robust = Robust()
    log: Log = Log()

    @model_validator(mode="after")
    def _sections_agree(self) -> "RunConfig":
        if self.hint is not None and self.teacher is None:
            raise ValueError("hint is set but teacher is null: nobody would read the hints")
        if self.teacher is not None and self.teacher.space == "delta" and self.model.lora is None:
            raise ValueError("teacher.space delta averages LoRA products, but model.lora is null")
        self._distillation_agrees()
        batch = self.optim.tasks_per_step * self.optim.num_generations
        if self.optim.micro_batch and batch % self.optim.micro_batch:
            raise ValueError(
                f"optim.micro_batch {self.optim.micro_batch} must divide tasks_per_step * num_generations = {batch}"
            )
        return self

    def _distillation_agrees(self) -> None:
        if self.hint is not None and self.hint.contrast and self.divergence.kind == "k3":
            raise ValueError("hint.contrast needs divergence.kind sampled, topk or full: k3 needs a normalised teacher")
        signed = self.divergence.mode == "rl_sign"
        if signed and self.hint is not None and self.hint.contrast:
            raise ValueError(
                "hint.contrast needs divergence.mode term: the ratio of rl_sign needs a normalised teacher"
            )
        if signed and self.lambda_.start > 1.0:
            raise ValueError(
                f"divergence.mode rl_sign mixes by lambda, which must not exceed 1; got {self.lambda_.start}"
            )
        if self.lambda_.balance == "grad_norm" and signed:
            raise ValueError("lambda.balance grad_norm needs divergence.mode term: rl_sign adds no gradient of its own")
        if self.lambda_.balance == "grad_norm" and not self.guard.grad_norm_every:
            raise ValueError(
                "lambda.balance grad_norm needs guard.grad_norm_every above 0: it goes by those measurements"
            )
        if self.supervised is not None and self.teacher is not None:
            raise ValueError("supervised trains without a teacher: set teacher: null and hint: null")
        if self.supervised is not None and self.optim.num_iterations > 1:
            raise ValueError("supervised makes one pass over its traces: set optim.num_iterations: 1")
