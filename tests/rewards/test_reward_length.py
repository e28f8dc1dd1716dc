"""Cosine length shaping at points where the cosine is known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthgym.errors import ConfigError
from healthgym.rewards import CosineLength, cosine_length_reward

SHAPE = CosineLength(limit=120)


@pytest.mark.parametrize(
    ("correctness", "tokens", "reward"),
    [
        (1.0, 0, 1.1),  # cos 0 = 1: the short end
        (1.0, 60, 0.9),  # cos(pi/2) = 0: half way, (1.1 + 0.7) / 2
        (1.0, 40, 1.0),  # cos(pi/3) = 1/2: 0.7 + 0.4 * 0.75
        (0.0, 0, 0.0),
        (0.0, 60, -0.15),  # half way between 0 and -0.3
        (0.0, 80, -0.225),  # cos(2 pi/3) = -1/2: -0.3 + 0.3 * 0.25
        (0.5, 60, 0.375),  # half of 0.9 and half of -0.15
        (1.0, 120, -0.5),  # at the limit
        (0.0, 500, -0.5),
    ],
)
def test_hand_worked_points(correctness, tokens, reward):
    assert cosine_length_reward(correctness, tokens, SHAPE) == pytest.approx(reward)


@given(short=st.integers(0, 118), more=st.integers(1, 119))
def test_short_is_better_when_right_and_also_when_wrong(short, more):
    long = min(short + more, 119)
    assert cosine_length_reward(1.0, short, SHAPE) > cosine_length_reward(1.0, long, SHAPE)
    assert cosine_length_reward(0.0, short, SHAPE) > cosine_length_reward(0.0, long, SHAPE)


@given(right=st.integers(0, 119), wrong=st.integers(0, 500))
def test_right_outranks_wrong_at_any_length_within_the_limit(right, wrong):
    assert cosine_length_reward(1.0, right, SHAPE) > cosine_length_reward(0.0, wrong, SHAPE)


def test_a_limit_of_nothing_is_refused():
    with pytest.raises(ConfigError, match="at least 1 token"):
        CosineLength(limit=0)
