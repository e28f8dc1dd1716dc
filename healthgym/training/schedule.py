"""lambda(n): how much the distillation term weighs, falling over the run and never rising again."""

from collections.abc import Mapping
from math import cos, pi
from typing import Any

SHAPES = ("constant", "linear", "cosine")


def scheduled_lambda(step: int, *, start: float, steps: int, shape: str = "cosine") -> float:
    """Return the scheduled weight at optimiser step `step`.

    Args:
        step: Optimiser steps done, from 0.
        start: Weight at step 0.
        steps: Step at which `linear` and `cosine` reach zero.
        shape: `constant`, `linear` (start (1 - n / steps)) or `cosine` (start (1 + cos(pi n / steps)) / 2).
    """
    if shape == "constant":
        return start
    done = min(step / max(steps, 1), 1.0)
    if shape == "linear":
        return start * (1 - done)
    if shape == "cosine":
        return start * (1 + cos(pi * done)) / 2
    raise ValueError(f"Unknown lambda shape {shape!r}: expected one of {', '.join(SHAPES)}")


class Lambda:
    """The distillation weight with its ratchet.

    When the smoothed KL passes `kl_high`, the ceiling falls to `ratchet` times the present value, for good. It may fall
    again after `cooldown` more observations above the limit. Switching distillation off and on again is known to break
    a run, so the value at a later step is never above the value at an earlier one.
    """

    def __init__(
        self,
        start: float,
        *,
        steps: int,
        shape: str = "cosine",
        kl_high: float | None = None,
        ratchet: float = 0.5,
        cooldown: int = 5,
        smoothing: float = 0.9,
    ) -> None:
        self.start, self.steps, self.shape = start, steps, shape
        self.kl_high, self.ratchet, self.cooldown, self.smoothing = kl_high, ratchet, cooldown, smoothing
        self.ceiling = start
        self.present = start
        """The weight in force, which a balance may hold below the ceiling."""
        self.smoothed_kl: float | None = None
        self.ratchets = 0
        self._quiet = 0

    def value(self, step: int) -> float:
        """Return lambda(step), in [0, start]."""
        self.ceiling = min(self.ceiling, scheduled_lambda(step, start=self.start, steps=self.steps, shape=self.shape))
        self.present = self.ceiling
        return self.ceiling

    def observe(self, kl: float) -> bool:
        """Take in the mean divergence of a step, in nats; return True when the ceiling was lowered."""
        before = kl if self.smoothed_kl is None else self.smoothed_kl
        self.smoothed_kl = self.smoothing * before + (1 - self.smoothing) * kl
        self._quiet = max(self._quiet - 1, 0)
        if self.kl_high is None or self.smoothed_kl <= self.kl_high or self.is_cooling:
            return False
        self.lower()
        return True

    @property
    def is_cooling(self) -> bool:
        """Whether the ceiling was lowered a moment ago."""
        return self._quiet > 0

    def lower(self) -> None:
        """Lower the ceiling to `ratchet` times the weight in force, for good."""
        self.ceiling = min(self.ceiling, self.present) * self.ratchet
        self.ratchets += 1
        self._quiet = self.cooldown

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs to continue exactly."""
        return {
            "ceiling": self.ceiling,
            "smoothed_kl": self.smoothed_kl,
            "ratchets": self.ratchets,
            "quiet": self._quiet,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        self.ceiling, self.smoothed_kl = state["ceiling"], state["smoothed_kl"]
        self.ratchets, self._quiet = state["ratchets"], state["quiet"]
