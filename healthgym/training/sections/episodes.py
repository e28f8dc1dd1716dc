"""The episodes of a run: which tasks, how they are sampled, what they are worth."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from healthgym.training.sections.base import Count, NotNegative, Positive, Section, Share, Steps


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
    encoder: str | None = None
    """The index's encoder, when the name in it does not find it here, or its model in other arithmetic."""

    @model_validator(mode="after")
    def _both_need_an_index(self) -> "Env":
        if self.exclude is not None and self.index is None:
            raise ValueError("env.exclude lists passages of the index in env.index; give that folder too")
        if self.encoder is not None and self.index is None:
            raise ValueError("env.encoder is that of the index in env.index; give that folder too")
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
