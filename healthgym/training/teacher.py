"""The live teacher: the student's own network, run with averaged weights."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from healthgym.errors import ConfigError
from healthgym.training.ema import Change, EMATeacher


class LiveTeacher:
    """Runs the student's modules with the teacher's weights in place of the trainable ones.

    With LoRA this is a second set of adapter weights on the same frozen base; with full fine-tuning a second set of all
    weights. There is no second module, so whatever the trainer patches into the model's forward serves both, and the
    optimiser, the saved model and generation never meet the teacher.

    Args:
        model: The student, unwrapped. Its trainable parameters are the ones averaged.
        decay, update_every, copy_every, space, rank_factor, device: As in `EMATeacher`.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        decay: float,
        update_every: int = 1,
        copy_every: int = 0,
        space: str = "factors",
        rank_factor: int = 1,
        device: str | None = None,
    ) -> None:
        self.model = model
        self.parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
        if not self.parameters:
            raise ConfigError("The model has no trainable parameters: there is nothing for a teacher to follow")
        if space == "delta" and not any("lora_A" in name for name in self.parameters):
            raise ConfigError("teacher.space delta averages LoRA products, but the model has no LoRA adapters")
        self.ema = EMATeacher(
            self.parameters,
            decay=decay,
            update_every=update_every,
            copy_every=copy_every,
            space=space,
            rank_factor=rank_factor,
            device=device,
        )

    @contextmanager
    def active(self) -> Iterator[nn.Module]:
        """Run the model as the teacher inside this context: averaged weights, no dropout, no gradient.

        The student's tensors are set aside, not copied, and put back on the way out. Enter only while no graph of the
        student's is alive: it would be differentiated at the teacher's weights.
        """
        aside = {name: parameter.data for name, parameter in self.parameters.items()}
        was_training = self.model.training
        try:
            for name, parameter in self.parameters.items():
                parameter.data = self.ema.weights[name].to(parameter.device, parameter.dtype)
            self.model.eval()
            with torch.no_grad():
                yield self.model
        finally:
            for name, parameter in self.parameters.items():
                parameter.data = aside[name]
            self.model.train(was_training)

    def follow(self, step: int) -> Change:
        """Move after optimiser step `step` (1 for the first)."""
        with torch.no_grad():
            return self.ema.after_step(step, self.parameters)

    def distance(self) -> float:
        """Relative distance of the teacher's weights to the student's."""
        return self.ema.distance(self.parameters)

    def state_dict(self) -> dict[str, Any]:
        """Return weights and counters of the averages."""
        return self.ema.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`, bit for bit."""
        self.ema.load_state_dict(state)
