"""Rewards: scores that judge a finished episode, gates that make guessing and harm worthless, length shaping."""

from healthgym.rewards.compose import PRESETS, RewardConfig, compose
from healthgym.rewards.grade import Grade, grade
from healthgym.rewards.length import CosineLength, cosine_length_reward
from healthgym.rewards.record import EpisodeRecord

__all__ = [
    "PRESETS",
    "CosineLength",
    "EpisodeRecord",
    "Grade",
    "RewardConfig",
    "compose",
    "cosine_length_reward",
    "grade",
]
