"""Switches cosine length shaping on once success is no longer rare."""

from collections.abc import Mapping, Sequence
from typing import Any

from healthgym.rewards import CosineLength, cosine_length_reward


class LengthShaping:
    """Shapes rewards by length from the first step at which smoothed success has passed `start_success`.

    Shaping while success is rare rewards short wrong answers most, which ends tool use. Once on it stays on.

    Args:
        shape: The two curves.
        start_success: Share of successful episodes, in [0, 1]; 0 shapes from the start.
        smoothing: Weight of the past in the running mean of success.
    """

    def __init__(self, shape: CosineLength, *, start_success: float, smoothing: float = 0.8) -> None:
        self.shape, self.start_success, self.smoothing = shape, start_success, smoothing
        self.smoothed_success: float | None = None
        self.is_on = start_success <= 0.0

    def observe(self, success_share: float) -> None:
        """Take in one step's share of successful episodes."""
        before = success_share if self.smoothed_success is None else self.smoothed_success
        self.smoothed_success = self.smoothing * before + (1 - self.smoothing) * success_share
        self.is_on = self.is_on or self.smoothed_success >= self.start_success

    def apply(self, rewards: Sequence[float], tokens: Sequence[int]) -> list[float]:
        """Return the rewards as the trainer should see them.

        Args:
            rewards: In [0, 1]; partial credit lies between the curves of right and wrong.
            tokens: Assistant tokens of each episode.
        """
        if not self.is_on:
            return list(rewards)
        return [cosine_length_reward(reward, count, self.shape) for reward, count in zip(rewards, tokens, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs."""
        return {"smoothed_success": self.smoothed_success, "is_on": self.is_on}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        self.smoothed_success, self.is_on = state["smoothed_success"], state["is_on"]
