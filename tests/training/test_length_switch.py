import pytest

from healthgym.rewards import CosineLength
from healthgym.training.shaping import LengthShaping


def test_shaping_waits_for_success_and_then_stays():
    shaping = LengthShaping(CosineLength(limit=100), start_success=0.3, smoothing=0.5)
    shaping.observe(0.2)
    assert shaping.apply([1.0, 0.0], [50, 50]) == [1.0, 0.0]
    shaping.observe(0.5)  # 0.35
    # Half way both curves are at their middle: right (1.1 + 0.7) / 2 = 0.9, wrong (0 - 0.3) / 2 = -0.15.
    assert shaping.apply([1.0, 0.0], [50, 50]) == pytest.approx([0.9, -0.15])
    assert shaping.apply([1.0], [100]) == [-0.5]
    for _ in range(9):
        shaping.observe(0.0)
    assert shaping.is_on


def test_zero_shapes_from_the_start():
    assert LengthShaping(CosineLength(limit=10), start_success=0.0).apply([1.0], [0]) == pytest.approx([1.1])


def test_the_switch_survives_a_resume():
    first = LengthShaping(CosineLength(limit=10), start_success=0.3, smoothing=0.0)
    first.observe(0.4)
    second = LengthShaping(CosineLength(limit=10), start_success=0.3, smoothing=0.0)
    second.load_state_dict(first.state_dict())
    second.observe(0.0)
    assert second.is_on and second.smoothed_success == 0.0
