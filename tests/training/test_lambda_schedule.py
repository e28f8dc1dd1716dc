import random
from itertools import pairwise

import pytest

from healthgym.training.schedule import Lambda, scheduled_lambda


def test_schedules_by_hand():
    at = [scheduled_lambda(n, start=2.0, steps=10, shape="linear") for n in (0, 5, 10, 20)]
    assert at == pytest.approx([2.0, 1.0, 0.0, 0.0])
    # cosine at a quarter: 2 (1 + cos 45 deg) / 2 = 1.707107
    assert scheduled_lambda(1, start=2.0, steps=4) == pytest.approx(1.7071068)
    assert scheduled_lambda(99, start=2.0, steps=10, shape="constant") == 2.0


def test_lambda_never_rises_whatever_it_observes():
    draw = random.Random(0)
    weight = Lambda(1.0, steps=50, shape="constant", kl_high=0.7, cooldown=1)
    values = []
    for step in range(80):
        weight.observe(draw.uniform(0, 2))
        values.append(weight.value(step))
    assert all(later <= earlier for earlier, later in pairwise(values))
    assert values[-1] < 1.0
    assert weight.value(0) <= values[-1]  # asking for an earlier step gives nothing back


def test_the_ratchet_halves_once_per_cooldown_and_stays():
    weight = Lambda(1.0, steps=10, shape="constant", kl_high=0.7, cooldown=3, smoothing=0.0)
    lowered = [weight.observe(kl) for kl in (0.5, 0.8, 0.9, 0.9, 0.9, 0.1)]
    # First crossing at the second observation; two more above the limit are inside the cooldown, the third is not.
    assert lowered == [False, True, False, False, True, False]
    assert weight.value(9) == 0.25
    assert weight.ratchets == 2


def test_one_noisy_step_does_not_trip_a_smoothed_ratchet():
    weight = Lambda(1.0, steps=10, shape="constant", kl_high=0.7, smoothing=0.9)
    # 0.9 * 0.2 + 0.1 * 2.0 = 0.38
    assert [weight.observe(kl) for kl in (0.2, 2.0)] == [False, False]
    assert weight.smoothed_kl == pytest.approx(0.38)


def test_a_resumed_lambda_continues_exactly():
    def run(weight: Lambda, steps: range) -> list[float]:
        values = []
        for step in steps:
            weight.observe(0.1 * step)
            values.append(weight.value(step))
        return values

    whole, first = Lambda(1.0, steps=30, kl_high=0.7), Lambda(1.0, steps=30, kl_high=0.7)
    expected = run(whole, range(20))
    head = run(first, range(11))
    second = Lambda(1.0, steps=30, kl_high=0.7)
    second.load_state_dict(first.state_dict())
    assert head + run(second, range(11, 20)) == expected
