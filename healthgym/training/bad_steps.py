"""Optimiser steps whose loss or gradient is not a finite number are skipped, counted, and not endured for long."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

import torch
from accelerate.utils import gather_object
from torch import Tensor
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from healthgym.errors import HealthgymError

logger = logging.getLogger(__name__)


class TrainingDiverged(HealthgymError):
    """Step after step gave NaN or infinity; the weights are those before the first of them."""


class BadSteps(TrainerCallback):
    """Drops the gradients of a bad step, so that the optimiser leaves weights and moments as they are.

    Args:
        most: Bad steps in a row that end the run.
        processes: Processes that train together: a step bad on one is bad on all.
    """

    def __init__(self, *, most: int, processes: int = 1) -> None:
        self.most, self.processes = most, processes
        self.total = self.in_a_row = 0
        self.is_bad = False
        """Whether the step that just ended was skipped."""
        self.was_skipped: Callable[[], bool] = lambda: False
        """Whether the launch's own optimiser has just skipped the step; DeepSpeed's does, and shows no gradients."""
        self._loss_is_finite = True

    def saw(self, loss: Tensor) -> Tensor:
        """Take in a micro-batch's loss; return it, or 0 where it would spoil the running sum of losses."""
        if not bool(torch.isfinite(loss).all()):
            self._loss_is_finite = False
            return torch.zeros_like(loss)
        return loss

    def on_pre_optimizer_step(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: Any = None,
        **kwargs: Any,
    ) -> None:
        """Look at the step's gradients before the optimiser does."""
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        finite = self._loss_is_finite and _all_finite(gradients) and not self.was_skipped()
        if self.processes > 1:
            finite = all(gather_object([finite]))
        self.is_bad, self._loss_is_finite = not finite, True
        if finite:
            self.in_a_row = 0
            return
        self.total, self.in_a_row = self.total + 1, self.in_a_row + 1
        model.zero_grad(set_to_none=True)
        logger.warning(
            "step %d gave a loss or gradient that is not finite and was skipped (%d in a row, %d in all)",
            state.global_step + 1, self.in_a_row, self.total,
        )  # fmt: skip

    def check(self, step: int) -> None:
        """End the run when too many steps in a row were bad.

        Raises:
            TrainingDiverged: Says since when, and what to try.
        """
        if self.in_a_row >= self.most:
            first = step - self.in_a_row + 1
            raise TrainingDiverged(
                f"Steps {first} to {step} all gave a loss or gradient that is not finite. They were skipped, and the run "
                f"stops (robust.max_bad_steps {self.most}); every checkpoint holds sound weights. Lower "
                "optim.learning_rate, or train in another model.dtype, in a new run folder."
            )

    def metrics(self) -> dict[str, float]:
        """Return the counters of a step's row."""
        return {"robust/bad_step": float(self.is_bad), "robust/bad_steps_total": float(self.total)}

    def state_dict(self) -> dict[str, int]:
        """Return the counters."""
        return {"total": self.total, "in_a_row": self.in_a_row}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Continue from a `state_dict`."""
        self.total, self.in_a_row = state["total"], state["in_a_row"]


def _all_finite(gradients: list[Tensor]) -> bool:
    largest = torch.nn.utils.get_total_norm(gradients, norm_type=float("inf"))
    return bool(torch.isfinite(largest).all())
