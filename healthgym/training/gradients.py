"""The gradient norms of the two terms of the loss, and a weight that keeps them at a ratio."""

from collections.abc import Iterable, Mapping, Sequence
from math import exp, isfinite, log
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from healthgym.training.shards import piece, sharded_gradients, sum_over_processes


class GradientMeter:
    """Sums each term's gradient over the micro-batches of one step, beside the gradients that are trained on.

    A measured step costs two extra backward passes a micro-batch and, at its peak, three copies of the trainable parameters'
    gradients: the sums of both terms and what one pass has found; of a model that FSDP shards, of this process's pieces of them.

    Args:
        parameters: The student's parameters; those that are not trained are left out.
        model: The model they belong to. Needed only where FSDP has sharded it.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], model: nn.Module | None = None) -> None:
        self.parameters = [parameter for parameter in parameters if parameter.requires_grad]
        self._model = model if any(isinstance(parameter, DTensor) for parameter in self.parameters) else None
        self._sums: dict[str, list[Tensor | None]] = {}

    def add(self, name: str, loss: Tensor) -> None:
        """Add one micro-batch's gradient of a term; the graph stays alive."""
        found: Sequence[Tensor | None] = [None] * len(self.parameters)
        if self._model is not None:
            found = sharded_gradients(self._model, self.parameters, loss)
        elif loss.requires_grad:
            found = torch.autograd.grad(loss, self.parameters, retain_graph=True, allow_unused=True)
        sums = self._sums.setdefault(name, [None] * len(found))
        for place, gradient in enumerate(found):
            if gradient is not None:
                own, before = piece(gradient).float(), sums[place]
                sums[place] = own if before is None else before + own

    def norms(self, accelerator: Any) -> dict[str, float]:
        """Return the norm of each term's gradient of the whole batch, over all processes; all must call this."""
        squares = [self._square(sums, accelerator) for sums in self._sums.values()]
        if self._model is not None:  # so far, of this process's pieces
            squares = sum_over_processes(squares, accelerator.device)
        return {name: square**0.5 for name, square in zip(self._sums, squares, strict=True)}

    def _square(self, sums: Sequence[Tensor | None], accelerator: Any) -> float:
        square = 0.0
        for parameter, own in zip(self.parameters, sums, strict=True):
            summed = torch.zeros_like(piece(parameter), dtype=torch.float32) if own is None else own
            if self._model is None:  # otherwise FSDP has taken the mean over the processes already
                summed = accelerator.reduce(summed, reduction="mean")
            square += float(torch.linalg.vector_norm(summed, dtype=torch.float64)) ** 2
        return square


class GradientBalance:
    """Holds ||lambda * distillation gradient|| at `ratio` times ||policy gradient||, below a ceiling.

    The fair weight, ratio * ||policy|| / ||distillation at weight 1||, is smoothed in its logarithm. The weight in force is
    the lower of it and the scheduled ceiling. The ceiling alone is monotone: below it the weight follows the policy gradient
    up and down, which cannot repeat the known break-down of a term that is switched off and on again, since the term's
    gradient never outgrows its share of the policy's.

    Args:
        ratio: Wanted ratio of the two norms.
        smoothing: Weight of the past, in [0, 1).
    """

    def __init__(self, ratio: float, *, smoothing: float = 0.5) -> None:
        self.ratio, self.smoothing = ratio, smoothing
        self._log_fair: float | None = None

    @property
    def is_set(self) -> bool:
        """Whether both gradients have been seen."""
        return self._log_fair is not None

    def observe(self, policy: float, distillation: float) -> None:
        """Take in the norms of one step, the distillation's at weight 1; a step without either, or with NaN, says nothing."""
        if not isfinite(policy + distillation) or policy <= 0.0 or distillation <= 0.0:
            return
        fair = log(self.ratio * policy / distillation)
        before = fair if self._log_fair is None else self._log_fair
        self._log_fair = self.smoothing * before + (1 - self.smoothing) * fair

    def weight(self, ceiling: float) -> float:
        """Return the weight in force under a ceiling."""
        return ceiling if self._log_fair is None else min(ceiling, exp(self._log_fair))

    def state_dict(self) -> dict[str, Any]:
        """Return the smoothed weight."""
        return {"log_fair": self._log_fair}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        self._log_fair = state["log_fair"]
