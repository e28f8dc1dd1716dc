"""Supervised warm start: TRL's SFTTrainer on the tokens of finished episodes, with loss on the assistant's alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback, set_seed
from trl import SFTConfig, SFTTrainer

from healthgym.errors import ConfigError
from healthgym.rollout import Trajectory
from healthgym.training.processes import let_cpus_shard
from healthgym.training.teacher_context import HintRenderer, teacher_sequence

IGNORED = -100
OnLoss = Callable[[int, float], None]
"""Told steps done and that step's loss, in nats a token."""


@dataclass(frozen=True, slots=True)
class Example:
    """One demonstration as tokens."""

    input_ids: list[int]
    labels: list[int]
    """The assistant's tokens; -100 elsewhere."""

    @property
    def assistant_tokens(self) -> int:
        """Tokens that carry loss."""
        return sum(label != IGNORED for label in self.labels)


def example_of(trajectory: Trajectory, *, hint: str | None = None, renderer: HintRenderer | None = None) -> Example:
    """Return the tokens of a finished episode, with a hint before its first turn when one is given.

    The ids are those of the rollout, never rendered again, and the hint lies where the teacher will read it.
    """
    if hint is not None and renderer is None:
        raise ValueError("a hinted example needs a renderer")
    sequence = teacher_sequence(
        trajectory.prompt_ids,
        trajectory.completion_ids,
        [span.start for span in trajectory.turns],
        renderer.message(hint) if hint is not None and renderer is not None else [],
        generation_prompt=renderer.generation_prompt if hint is not None and renderer is not None else [],
    )
    ids = sequence.prompt_ids + sequence.completion_ids
    own = [
        token if written else IGNORED
        for token, written in zip(trajectory.completion_ids, trajectory.completion_mask, strict=True)
    ]
    return Example(ids, [IGNORED] * len(sequence.prompt_ids) + own)


def warm_start(
    model: Any,
    tokenizer: Any,
    examples: Sequence[Example],
    *,
    steps: int,
    learning_rate: float,
    batch_size: int,
    output_dir: Path,
    seed: int = 0,
    bf16: bool = False,
    max_length: int | None = None,
    on_step: OnLoss | None = None,
) -> dict[str, float]:
    """Train `model` in place on demonstrations and return what was done.

    Args:
        model: The policy, LoRA already applied if wanted.
        tokenizer: Its tokenizer.
        examples: Demonstrations; those over `max_length` are left out and counted, never cut.
        steps: Optimiser steps.
        learning_rate: Peak rate, falling linearly to zero.
        batch_size: Examples per step and process.
        output_dir: Where TRL may write; nothing is saved there.
        seed: Seeds the order of examples.
        bf16: Train under bfloat16 autocast.
        max_length: Longest example in tokens.
        on_step: Called after each step.

    Returns:
        `loss` (mean of the last tenth of the steps, in nats a token), `steps`, `examples` and `too_long`.

    Raises:
        ConfigError: No example is left.
    """
    kept = [one for one in examples if max_length is None or len(one.input_ids) <= max_length]
    kept = [one for one in kept if one.assistant_tokens]
    if not kept:
        raise ConfigError(
            f"None of {len(examples)} demonstrations fits into {max_length} tokens. Raise rollout.max_context, or shorten "
            "the prompts with env.prompt_profile: compact."
        )
    rows = Dataset.from_dict({"input_ids": [one.input_ids for one in kept], "labels": [one.labels for one in kept]})
    arguments = SFTConfig(
        output_dir=str(output_dir),
        max_steps=steps,
        learning_rate=learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=min(10, steps // 10),
        per_device_train_batch_size=batch_size,
        gradient_checkpointing=False,
        bf16=bf16,
        use_cpu=not torch.accelerator.is_available(),  # bfloat16 on a CPU must be asked for
        seed=seed,
        logging_steps=1,
        logging_nan_inf_filter=False,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        dataset_kwargs={"skip_prepare_dataset": True},
        dataloader_pin_memory=torch.cuda.is_available(),
        max_length=None,
    )
    set_seed(seed)
    losses = _Losses(on_step)
    let_cpus_shard()
    trainer = SFTTrainer(
        model=model, args=arguments, train_dataset=rows, processing_class=tokenizer, callbacks=[losses]
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    restore_forward(model)
    tail = losses.values[-max(1, steps // 10) :]
    return {
        "loss": sum(tail) / len(tail),
        "steps": float(steps),
        "examples": float(len(kept)),
        "too_long": float(len(examples) - len(kept)),
    }


def restore_forward(model: Any) -> None:
    """Undo TRL's patch of the model's forward, so that the next trainer patches a clean model."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    base.__dict__.pop("forward", None)


class _Losses(TrainerCallback):
    def __init__(self, on_step: OnLoss | None) -> None:
        self.values: list[float] = []
        self.on_step = on_step

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **kwargs: Any) -> None:
        if logs and "loss" in logs:
            self.values.append(logs["loss"])
            if self.on_step is not None:
                self.on_step(state.global_step, logs["loss"])
