"""How far student and teacher have come from where the run began, at no second copy of the weights."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from healthgym.training.lowrank import factor_pairs

SAMPLES = 256
"""Entries looked at in each parameter or LoRA product."""


class Travel:
    """Compares the teacher's way from the start with the student's, on a fixed sample of entries.

    A teacher that hardly moves while it has weight holds the student back. The sample is of the products B A where there are
    LoRA pairs, so that factors in another basis count as what they do.

    Args:
        start: Trainable parameters by name at the start of the run.
        samples: Entries for each parameter or product.
    """

    def __init__(self, start: Mapping[str, Tensor], *, samples: int = SAMPLES) -> None:
        self._samples = samples
        self.pairs = factor_pairs(start)
        paired = {name for pair in self.pairs for name in pair}
        self.plain = [name for name in start if name not in paired]
        self.start = self._look(start)

    def share(self, student: Mapping[str, Tensor], teacher: Mapping[str, Tensor]) -> float | None:
        """Return ||teacher - start|| / ||student - start||; None before the student has moved."""
        way = float((self._look(student) - self.start).norm())
        return float((self._look(teacher) - self.start).norm()) / way if way else None

    def _look(self, weights: Mapping[str, Tensor]) -> Tensor:
        seen = [self._product(weights[a], weights[b]) for a, b in self.pairs]
        seen += [_spread(weights[name].detach().flatten(), self._samples) for name in self.plain]
        return torch.cat([values.double().cpu() for values in seen])

    def _product(self, a: Tensor, b: Tensor) -> Tensor:
        """Return entries of B A along a diagonal that wraps around both sides."""
        count = min(self._samples, b.shape[0] * a.shape[1])
        places = torch.arange(count, device=a.device)
        rows, columns = places % b.shape[0], (places * 7 + places // b.shape[0]) % a.shape[1]
        left, right = b.detach().double()[rows], a.detach().double()[:, columns].T
        return (left * right.to(left.device)).sum(1)

    def state_dict(self) -> dict[str, Any]:
        """Return the sample of the start."""
        return {"start": self.start.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        self.start = state["start"].clone()


def _spread(values: Tensor, count: int) -> Tensor:
    step = max(1, values.numel() // count)
    return values[::step][:count]
