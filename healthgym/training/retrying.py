"""GRPO steps that run out of memory are taken again in smaller pieces."""

import gc
import logging
from typing import Any

import torch
from torch import Tensor
from trl import GRPOTrainer

from healthgym.rollout.memory import OutOfMemory

logger = logging.getLogger(__name__)


class RetryingTrainer(GRPOTrainer):
    """Takes each micro-batch in `parts` equal pieces, whose gradients add up to those of the whole.

    A step that runs out of memory in its forward or backward pass is taken again from its first micro-batch, in smaller
    pieces, and so are all later steps. The episodes stay the same. `bnpo` normalises within each piece, as it does
    within each micro-batch.
    """

    current_gradient_accumulation_steps: int
    parts = 1
    oom_retries = 0
    _is_updating = False
    _is_retry = False
    _logged: dict[str, int] = {}
    _buffered_inputs: Any

    def begin_micro_batches(self) -> None:
        """Forget what a step that is taken again has counted so far; subclasses add their own."""

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Tensor:
        """Take one micro-batch, in smaller pieces when memory runs out."""
        is_again = False
        while True:
            try:
                if is_again:
                    self._again(model)
                loss: Tensor = super().training_step(model, inputs, num_items_in_batch)
                return loss
            except torch.OutOfMemoryError as error:
                if not self._is_updating:
                    raise  # while episodes were made: see ShrinkingSource
                self._shrink(str(error).splitlines()[0])
                is_again = True
            finally:
                self._is_updating = self._is_retry = False

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        if not self._is_retry:
            return super()._prepare_inputs(generation_batch)
        return self._buffered_inputs[self._step % self.args.steps_per_generation]

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Tensor:
        """Return a micro-batch's loss. The gradients of all its pieces but the last have been added by then."""
        if not model.training:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        self._is_updating = True
        if self._step % self.current_gradient_accumulation_steps == 0 and not self._is_retry:
            self._logged = {name: len(values) for name, values in self._metrics["train"].items()}
        if self.parts == 1:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        accumulation: int = self.current_gradient_accumulation_steps
        total: Tensor | float = 0.0
        try:
            self.current_gradient_accumulation_steps = accumulation * self.parts
            *first, last = cut(inputs, self.parts)
            for piece in first:
                loss = super().compute_loss(model, piece, return_outputs, num_items_in_batch)
                self.accelerator.backward(loss)
                total = total + loss.detach()
            return super().compute_loss(model, last, return_outputs, num_items_in_batch) + total
        finally:
            self.current_gradient_accumulation_steps = accumulation

    def _shrink(self, reason: str) -> None:
        rows = self.args.per_device_train_batch_size
        if self.accelerator.num_processes > 1:
            raise OutOfMemory(
                f"Out of memory in a training pass of {rows // self.parts} trajectories ({reason}). Processes that train "
                "together cannot take a step again alone: lower optim.micro_batch, or set optim.gradient_checkpointing."
            )
        self.parts = next((n for n in range(self.parts + 1, rows + 1) if rows % n == 0), 0) or self._give_up(reason)
        self.oom_retries += 1
        logger.warning("out of memory (%s); going on with %d trajectories a pass", reason, rows // self.parts)

    def _give_up(self, reason: str) -> int:
        raise OutOfMemory(
            f"Out of memory with a single trajectory a pass ({reason}). Lower rollout.max_completion_tokens, set "
            "optim.gradient_checkpointing: true, train adapters (model.lora), or take a smaller model."
        )

    def _again(self, model: Any) -> None:
        """Undo the step's micro-batches and take all but the present one again."""
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        model.zero_grad(set_to_none=True)
        logged = self._metrics["train"]
        for name in list(logged):
            del logged[name][self._logged.get(name, 0) :]
            if not logged[name]:
                del logged[name]
        self.begin_micro_batches()
        self._is_retry = True
        spent = self._step % self.current_gradient_accumulation_steps
        start = self._step - spent
        for step in range(start, self._step):
            with self.compute_loss_context_manager():
                batch = self._buffered_inputs[step % self.args.steps_per_generation]
                loss = self.compute_loss(model, batch)
            self.accelerator.backward(loss)

    def memory_metrics(self) -> dict[str, float]:
        """Return what a step's row says about memory."""
        rows = self.args.per_device_train_batch_size // self.parts
        return {"robust/micro_batch": float(rows), "robust/oom_retries_total": float(self.oom_retries)}


def cut(inputs: dict[str, Any], parts: int) -> list[dict[str, Any]]:
    """Return a micro-batch in equal pieces, whose token counts are scaled so that their losses add up to the whole's.

    Args:
        inputs: Tensors of B rows, scalars, and values without rows.
        parts: Divides B.
    """
    rows = inputs["completion_ids"].size(0)
    size = rows // parts
    pieces = []
    for start in range(0, rows, size):
        piece = {
            name: value[start : start + size] if isinstance(value, Tensor) and value.dim() else value
            for name, value in inputs.items()
        }
        if "num_items_in_batch" in piece:
            piece["num_items_in_batch"] = piece["num_items_in_batch"] / parts
        pieces.append(piece)
    return pieces
