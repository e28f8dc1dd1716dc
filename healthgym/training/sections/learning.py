"""How the model learns from episodes: the policy-gradient step, and supervised steps before it or in its place."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from healthgym.training.sections.base import Count, NotNegative, Positive, Section, Share, Steps


class Optim(Section):
    """The policy-gradient step."""

    steps: Count = 100
    learning_rate: Positive = 1e-6
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup_steps: Steps = 0
    """Steps over which the learning rate rises from 0, whatever the schedule."""
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
    hint_level: Literal["outcome", "process", "answer", "mixed"] | None = None
    """Level of those hints; null: the run's own `hint.level`, or process in a run without hints; mixed: drawn for each pair, so
    that runs whose hints differ can begin at one model."""
    skip_evidence: tuple[Share, Share] = (0.0, 0.0)
    """Range of the chance that a demonstration skips a call of the oracle's."""
    wrong_answer: tuple[Share, Share] = (0.0, 0.0)
    """Range of the chance that a demonstration submits another task's answer."""
