"""One run's settings: small, frozen, nested, importable without torch.

Every field is described beside it. Values come from three layers, later ones winning: the preset's defaults, the recipe
file, and `--set a.b=c` overrides. See `healthgym.training.loading` for reading them.
"""

from typing import Literal

from pydantic import Field, model_validator

from healthgym.training.sections.base import Section
from healthgym.training.sections.distillation import Divergence, Guard, Hint, LambdaDecay, Teacher, Turns
from healthgym.training.sections.episodes import VLLM, Curriculum, Env, Length, Reward, Rollout
from healthgym.training.sections.learning import Optim, Supervised, WarmStart
from healthgym.training.sections.model import Lora, Model, TinyModel
from healthgym.training.sections.upkeep import Best, Checkpoint, Evaluation, Log, Reporter, Robust

__all__ = [
    "Best",
    "Checkpoint",
    "Curriculum",
    "Divergence",
    "Env",
    "Evaluation",
    "Guard",
    "Hint",
    "LambdaDecay",
    "Length",
    "Log",
    "Lora",
    "Model",
    "Optim",
    "PresetName",
    "Reporter",
    "Reward",
    "Robust",
    "Rollout",
    "RunConfig",
    "Section",
    "Supervised",
    "Teacher",
    "TinyModel",
    "Turns",
    "VLLM",
    "WarmStart",
]

PresetName = Literal[
    "grpo", "grpo_cosine", "opd_copy", "opd_ema", "opd_ema_hints", "tt_opd", "tt_opd_paper", "tt_opd_no_hints",
    "tt_opd_shuffled", "sft_hinted",
]  # fmt: skip


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
