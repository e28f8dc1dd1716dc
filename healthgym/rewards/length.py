"""Cosine length shaping: a right answer earns more, a wrong one loses less, the shorter it is; none past the limit."""

from dataclasses import dataclass
from math import cos, pi

from healthgym.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class CosineLength:
    """Parameters of the cosine length reward. Source: Yeo et al., arXiv:2502.03373, sec. 4.2."""

    limit: int
    """Assistant tokens at which the penalty for running over begins."""
    correct_short: float = 1.1
    correct_long: float = 0.7
    wrong_short: float = 0.0
    wrong_long: float = -0.3
    over_limit: float = -0.5

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise ConfigError(f"reward.length.limit must be at least 1 token, got {self.limit}")


def cosine_length_reward(correctness: float, tokens: int, shape: CosineLength) -> float:
    """Return the shaped reward for `tokens` assistant tokens.

    r(t) = r_L + 1/2 (r_0 - r_L)(1 + cos(pi t / L)) on each curve; correctness in [0, 1] interpolates between the right
    and the wrong curve; t >= L earns `over_limit`.
    """
    if tokens >= shape.limit:
        return shape.over_limit
    swing = (1 + cos(pi * tokens / shape.limit)) / 2
    right = shape.correct_long + (shape.correct_short - shape.correct_long) * swing
    wrong = shape.wrong_long + (shape.wrong_short - shape.wrong_long) * swing
    return correctness * right + (1 - correctness) * wrong
