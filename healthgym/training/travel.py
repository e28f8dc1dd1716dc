"""How far student and teacher have come from where the run began, at no second copy of the weights."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from healthgym.training.lowrank import factor_pairs
from healthgym.training.partitions import is_partitioned
from healthgym.training.shards import entries, piece, sum_over_processes, whole, whole_shape

SAMPLES = 256
"""Entries looked at in each parameter or LoRA product."""


class Travel:
    """Compares the teacher's way from the start with the student's, on a fixed sample of entries.

    A teacher that hardly moves while it has weight holds the student back. The sample is of the products B A where there are
    LoRA pairs, so that factors in another basis count as what they do.

    Args:
        start: Trainable parameters by name at the start of the run; when DeepSpeed has cut them already, all processes must
            call this.
        samples: Entries for each parameter or product.
    """

    def __init__(self, start: Mapping[str, Tensor], *, samples: int = SAMPLES) -> None:
        self._samples = samples
        self.pairs = factor_pairs(start)
        paired = {name for pair in self.pairs for name in pair}
        self.plain = [name for name in start if name not in paired]
        if any(map(is_partitioned, start.values())):
            held = {name: whole(p) if name in paired else piece(p) for name, p in start.items()}
            self.start = self._look(held, start)
        else:
            self.start = self._look(start)

    def share(
        self, student: Mapping[str, Tensor], teacher: Mapping[str, Tensor], shards: Mapping[str, Tensor] | None = None
    ) -> float | None:
        """Return ||teacher - start|| / ||student - start||; None before the student has moved.

        Args:
            student: The student's parameters; LoRA pairs whole, others in this process's pieces when the model is sharded.
            teacher: The averages, likewise.
            shards: The parameters as the launch cut them, or None when nothing is sharded; all processes must call this then.
        """
        way = float((self._look(student, shards) - self.start).norm())
        return float((self._look(teacher, shards) - self.start).norm()) / way if way else None

    def _look(self, weights: Mapping[str, Tensor], shards: Mapping[str, Tensor] | None = None) -> Tensor:
        pairs = [self._product(weights[a], weights[b]) for a, b in self.pairs]
        plain = [self._sampled(weights[name], weights[name] if shards is None else shards[name]) for name in self.plain]
        found = torch.cat([values.double().cpu() for values in [*pairs, *plain]])
        if shards is None:
            return found
        paired = sum(len(values) for values in pairs)  # every process holds these whole
        device = next(iter(shards.values())).device
        summed = sum_over_processes(found[paired:].tolist(), device)
        return torch.cat([found[:paired], torch.tensor(summed, dtype=torch.float64)])

    def _sampled(self, weight: Tensor, like: Tensor) -> Tensor:
        number = whole_shape(like).numel()
        step = max(1, number // self._samples)
        return entries(weight, like, torch.arange(0, number, step)[: self._samples])

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
