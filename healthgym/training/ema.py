"""The teacher's weights: an exponential moving average of the student's, kept in float32."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from healthgym.training.lowrank import average_products, factor_pairs, factors_error

Change = Literal["none", "update", "copy"]


class EMATeacher:
    """phi <- a phi + (1 - a) theta every `update_every` steps, phi <- theta every `copy_every`.

    Starts equal to the student. When both fall on one step, the copy wins.

    Args:
        student: Trainable parameters of the student by name.
        decay: a, share of the teacher kept at each update, in [0, 1].
        update_every: Optimiser steps between averages, 0 for never.
        copy_every: Optimiser steps between hard copies, 0 for never.
        space: `factors` averages every parameter; `delta` averages the product B A of each LoRA pair instead, since
            averaging A and B apart is not averaging what they do.
        rank_factor: Rank of the teacher's LoRA pairs in units of the student's, 1 or 2; more than 1 only with `delta`.
        device: Where the averages live; None leaves them beside the student.
        shares_start: Begin on the student's own tensors instead of copies; for a student that is replaced, not changed.
    """

    def __init__(
        self,
        student: Mapping[str, Tensor],
        *,
        decay: float,
        update_every: int = 1,
        copy_every: int = 0,
        space: str = "factors",
        rank_factor: int = 1,
        device: str | torch.device | None = None,
        shares_start: bool = False,
    ) -> None:
        if space not in ("factors", "delta"):
            raise ValueError(f"Unknown averaging space {space!r}: expected factors or delta")
        if rank_factor != 1 and space != "delta":
            raise ValueError("A teacher of higher rank than its student needs space 'delta'")
        self.decay, self.update_every, self.copy_every = decay, update_every, copy_every
        self.space, self.rank_factor, self.device = space, rank_factor, device
        self.pairs = factor_pairs(student)
        self.updates = 0
        self.copies = 0
        self.changed_at = 0
        self.error = 0.0
        """Relative Frobenius error of the last update against the exact average of the LoRA products."""
        self.is_frozen = False
        """Set by a guard: no average any more (hard copies included)."""
        self.weights: dict[str, Tensor] = {}
        self.sum_pieces: Callable[[list[float]], list[float]] = list
        """Sums over processes what each of them found on its own pieces of unpaired parameters."""
        self._copy(student, shares=shares_start)

    def after_step(self, step: int, student: Mapping[str, Tensor]) -> Change:
        """Follow the student after optimiser step `step` (1 for the first); say what was done."""
        if self.is_frozen:
            return "none"
        if self.copy_every and step % self.copy_every == 0:
            self._copy(student)
            self.copies += 1
            self.error = 0.0
        elif self.update_every and step % self.update_every == 0:
            self._average(student)
            self.updates += 1
        else:
            return "none"
        self.changed_at = step
        return "copy" if self.copy_every and step % self.copy_every == 0 else "update"

    def age(self, step: int) -> int:
        """Optimiser steps since the teacher last changed."""
        return step - self.changed_at

    def distance(self, student: Mapping[str, Tensor]) -> float:
        """Return ||phi - theta|| / ||theta||, over LoRA products where there are pairs and parameters elsewhere."""
        difference = norm = 0.0
        for name in self._plain():
            theta = self._like(student[name])
            difference += float((self.weights[name] - theta).double().square().sum())
            norm += float(theta.double().square().sum())
        difference, norm = self.sum_pieces([difference, norm])
        for a_name, b_name in self.pairs:
            a, b = self._like(student[a_name]), self._like(student[b_name])
            difference += factors_error([(b, a, 1.0)], self.weights[b_name], self.weights[a_name], absolute=True) ** 2
            norm += factors_error([], b, a, absolute=True) ** 2
        return (difference / norm) ** 0.5 if norm else float(difference > 0)

    def state_dict(self) -> dict[str, Any]:
        """Return weights and counters; loading them gives the same teacher bit for bit."""
        counters = {name: getattr(self, name) for name in ("updates", "copies", "changed_at", "error", "is_frozen")}
        return {"weights": {name: tensor.clone() for name, tensor in self.weights.items()}, **counters}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`.

        Raises:
            ValueError: The parameters are not the ones this teacher follows.
        """
        saved = state["weights"]
        if saved.keys() != self.weights.keys():
            odd = sorted(saved.keys() ^ self.weights.keys())[:3]
            raise ValueError(f"Saved teacher follows other parameters than this student has, for instance {odd}")
        for name, tensor in saved.items():
            self.weights[name] = tensor.to(self.weights[name].device, torch.float32, copy=True)
        for name in ("updates", "copies", "changed_at", "error", "is_frozen"):
            setattr(self, name, state[name])

    def _copy(self, student: Mapping[str, Tensor], *, shares: bool = False) -> None:
        for name, theta in student.items():
            self.weights[name] = theta.detach() if shares else self._like(theta).clone()
        for a_name, b_name in self.pairs if self.rank_factor > 1 else ():
            a, b = self.weights[a_name], self.weights[b_name]
            extra = a.shape[0] * (self.rank_factor - 1)
            self.weights[a_name] = torch.cat([a, a.new_zeros(extra, a.shape[1])])
            self.weights[b_name] = torch.cat([b, b.new_zeros(b.shape[0], extra)], dim=1)

    def _average(self, student: Mapping[str, Tensor]) -> None:
        errors = []
        for a_name, b_name in self.pairs:
            a, b = self._like(student[a_name]), self._like(student[b_name])
            old_a, old_b = self.weights[a_name], self.weights[b_name]
            if self.space == "delta":
                new_b, new_a, error = average_products(old_b, old_a, b, a, decay=self.decay, rank=old_a.shape[0])
            else:
                new_b, new_a = self._blend(old_b, b), self._blend(old_a, a)
                error = factors_error([(old_b, old_a, self.decay), (b, a, 1 - self.decay)], new_b, new_a)
            self.weights[a_name], self.weights[b_name] = new_a, new_b
            errors.append(error)
        for name in self._plain():
            self.weights[name] = self._blend(self.weights[name], self._like(student[name]))
        self.error = max(errors, default=0.0)

    def _blend(self, phi: Tensor, theta: Tensor) -> Tensor:
        return self.decay * phi + (1 - self.decay) * theta

    def _plain(self) -> list[str]:
        paired = {name for pair in self.pairs for name in pair}
        return [name for name in self.weights if name not in paired]

    def _like(self, theta: Tensor) -> Tensor:
        return theta.detach().to(self.device or theta.device, torch.float32)
