"""The gradient norms of the two terms of the loss, and a weight that keeps them at a ratio."""

from collections.abc import Mapping, Sequence
from math import exp, isfinite, log
from typing import Any

import torch
from torch import Tensor, nn


class GradientMeter:
    """Sums each term's gradient over the micro-batches of one step, beside the gradients that are trained on.

    A measured step costs two extra backward passes a micro-batch and two copies of the trainable parameters' gradients.
    """

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self.parameters = [parameter for parameter in parameters if parameter.requires_grad]
        self._sums: dict[str, Tensor] = {}

    def reset(self) -> None:
        """Forget the step before."""
        self._sums = {}

    def add(self, name: str, loss: Tensor) -> None:
        """Add one micro-batch's gradient of a term; the graph stays alive."""
        found: Sequence[Tensor | None] = [None] * len(self.parameters)
        if loss.requires_grad:
            found = torch.autograd.grad(loss, self.parameters, retain_graph=True, allow_unused=True)
        flat = torch.cat(
            [
                (torch.zeros_like(p) if g is None else g).flatten().float()
                for p, g in zip(self.parameters, found, strict=True)
            ]
        )
        self._sums[name] = self._sums[name] + flat if name in self._sums else flat

    def norms(self, accelerator: Any) -> dict[str, float]:
        """Return the norm of each term's gradient of the whole batch, over all processes."""
        return {
            name: float(accelerator.reduce(flat, reduction="mean").double().norm()) for name, flat in self._sums.items()
        }


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
