"""Turns a grade into the one number a trainer sees."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from healthgym.errors import ConfigError, nearest
from healthgym.rewards.grade import SCORES, Grade

WEIGHTS: Mapping[str, float] = {"accuracy": 0.25, "process": 0.20, "safety": 0.20, "format": 0.10, "coherence": 0.10}
PRESETS = ("gated", "paper")
CRITICAL_CAP = 0.1


@dataclass(frozen=True, kw_only=True)
class RewardConfig:
    """Which composition and which weights; weights are renormalised over the scores named.

    gated: support x (w_acc a + [a = 1] sum of w_k s_k) / sum of w, where a is accuracy and support the share of decisive
        evidence seen. Quality adds to a right answer only, and an unsupported answer earns nothing.
    paper: the weighted sum of the scores (arXiv:2605.02943).
    In both, a critical hazard caps the total at 0.1.
    """

    preset: Literal["gated", "paper"] = "gated"
    weights: Mapping[str, float] = field(default_factory=lambda: dict(WEIGHTS))

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            raise ConfigError(f"reward.preset {self.preset!r} is unknown.{nearest(self.preset, PRESETS)}")
        for name, weight in self.weights.items():
            if name not in SCORES:
                raise ConfigError(f"reward.weights: no score {name!r}.{nearest(name, SCORES)}")
            if weight < 0:
                raise ConfigError(f"reward.weights.{name} must not be negative, got {weight}")
        if self.weights.get("accuracy", 0) <= 0:
            raise ConfigError("reward.weights.accuracy must be above 0: a reward without correctness teaches style")


def compose(grade: Grade, config: RewardConfig | None = None) -> float:
    """Return the reward in [0, 1] of one graded episode."""
    config = config or RewardConfig()
    total = sum(config.weights.values())
    if config.preset == "paper":
        reward = sum(weight * grade.scores[name] for name, weight in config.weights.items()) / total
    else:
        reward = _gated(grade, config.weights, total)
    return min(reward, CRITICAL_CAP) if grade.is_critical else reward


def _gated(grade: Grade, weights: Mapping[str, float], total: float) -> float:
    correct = grade.scores["accuracy"]
    earned = weights["accuracy"] * correct
    if correct == 1.0:
        earned += sum(weight * grade.scores[name] for name, weight in weights.items() if name != "accuracy")
        if all(grade.scores[name] == 1.0 for name in weights):
            earned = total
    return grade.evidence_share * earned / total
