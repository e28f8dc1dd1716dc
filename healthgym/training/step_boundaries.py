"""Where optimiser steps begin and end."""

from typing import Any, Protocol

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments


class StepTrainer(Protocol):
    """The part of a trainer that acts where steps begin and end."""

    def begin_training(self) -> None:
        """Act once the launch has prepared the model."""

    def begin_step(self) -> None:
        """Act before an optimiser step."""

    def finish_step(self) -> bool:
        """Act after an optimiser step, and say whether the run shall end."""
        ...


class StepBoundaries(TrainerCallback):
    """Tells the trainer where optimiser steps begin and end, exact under gradient accumulation."""

    def __init__(self, trainer: StepTrainer) -> None:
        self.trainer = trainer

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.trainer.begin_training()

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.trainer.begin_step()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if self.trainer.finish_step():
            control.should_save = control.should_training_stop = True
