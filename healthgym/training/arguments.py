"""Turns a run's settings into TRL's: the one place where the two vocabularies meet."""

from math import ceil
from pathlib import Path

import torch
from trl import GRPOConfig

from healthgym.errors import ConfigError
from healthgym.training.batches import micro_batches
from healthgym.training.config import Optim, RunConfig


def trl_arguments(config: RunConfig, output_dir: Path, *, processes: int = 1) -> GRPOConfig:
    """Return TRL's arguments for a run on `processes` processes.

    Every step generates its own episodes: TRL's generation batch is one optimiser step's batch. The dataset holds the
    rows of the whole run in order, so that resuming needs no shuffling state.

    Raises:
        ConfigError: The batch cannot be cut into the processes' micro-batches, or checkpoints would fall between the
            passes over one batch.
    """
    optim, every = config.optim, config.checkpoint.every or config.optim.steps
    batch = optim.tasks_per_step * optim.num_generations
    possible = micro_batches(optim.tasks_per_step, optim.num_generations, processes=processes)
    micro = optim.micro_batch or possible[0]
    if micro not in possible:
        raise ConfigError(
            f"optim.tasks_per_step * optim.num_generations = {batch} cannot be cut into micro-batches of {micro} on "
            f"{processes} processes. Possible: {', '.join(map(str, possible))}"
        )
    if every % optim.num_iterations or optim.steps % optim.num_iterations:
        raise ConfigError(
            f"checkpoint.every {every} and optim.steps {optim.steps} must be multiples of optim.num_iterations "
            f"{optim.num_iterations}: a checkpoint between two passes over a batch cannot be resumed exactly"
        )
    accumulation = batch // (micro * processes)
    return GRPOConfig(
        output_dir=str(output_dir),
        max_steps=optim.steps,
        learning_rate=optim.learning_rate,
        lr_scheduler_type=_schedule(optim),
        warmup_steps=optim.warmup_steps,
        weight_decay=optim.weight_decay,
        max_grad_norm=optim.max_grad_norm,
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=accumulation,
        steps_per_generation=accumulation,
        num_generations=optim.num_generations,
        num_iterations=optim.num_iterations,
        loss_type=optim.loss_type,
        importance_sampling_level=optim.importance_level,
        scale_rewards="group" if optim.scale_advantages else "none",
        beta=optim.beta,
        epsilon=optim.epsilon,
        epsilon_high=optim.epsilon_high,
        gradient_checkpointing=optim.gradient_checkpointing,
        max_completion_length=config.rollout.max_completion_tokens,
        temperature=config.rollout.temperature,
        # Truncating per token never drops a long trajectory in silence, as TRL's default of masking sequences does.
        vllm_importance_sampling_mode="token_truncate",
        bf16=config.model.dtype == "bfloat16",
        use_cpu=not torch.accelerator.is_available(),  # bfloat16 on a CPU must be asked for
        seed=config.seed,
        shuffle_dataset=False,
        remove_unused_columns=False,
        logging_steps=1,
        logging_first_step=True,
        logging_nan_inf_filter=False,  # a NaN loss must be seen
        save_strategy="steps",
        save_steps=every,
        save_total_limit=None,  # our own rotation, after the atomic rename
        report_to=[],  # the reporters follow StepLog: see reporting
        run_name=config.log.run_name or output_dir.resolve().parent.name,
        project=config.log.project,
        disable_tqdm=True,
        ddp_find_unused_parameters=False,
        dataloader_pin_memory=torch.cuda.is_available(),
    )


def _schedule(optim: Optim) -> str:
    """Return transformers' name of the schedule: its plain "constant" passes over the warm-up steps without a word."""
    return "constant_with_warmup" if optim.schedule == "constant" and optim.warmup_steps else optim.schedule


def rows_needed(config: RunConfig) -> int:
    """Return how many tasks the run draws, counting repeats."""
    return ceil(config.optim.steps / config.optim.num_iterations) * config.optim.tasks_per_step
