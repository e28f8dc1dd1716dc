from collections.abc import Sequence

import pytest
from tiny import make_rows, make_trajectory

from healthgym.rollout import Trajectory
from healthgym.training.probe import ProbeResult, Rate, probe_hints, shuffled_hints


def episodes(count: int, reward: float = 0.0) -> list[Trajectory]:
    return [make_trajectory(row, [1], [2], [1], [0.0], [], reward, []) for row in make_rows(count)]


def test_the_three_rates_come_from_the_same_tasks():
    def resample(tasks: Sequence[Trajectory], hints: Sequence[str | None]) -> list[Trajectory | None]:
        # A teacher that succeeds just when the hint is the one that belongs to the task.
        return [
            episodes(1, reward=float(hint == f"hint {task.seed % 2}"))[0]
            for task, hint in zip(tasks, hints, strict=True)
        ]

    failed = episodes(6)
    result = probe_hints(failed, [f"hint {task.seed % 2}" for task in failed], resample)
    assert (result.right, result.shuffled, result.none) == (Rate(6, 6), Rate(0, 6), Rate(0, 6))
    assert result.helps
    assert result.metrics()["probe/right"] == 1.0 and "6 failed tasks" in result.describe()


def test_a_hint_that_does_not_beat_none_does_not_help():
    assert not ProbeResult(Rate(3, 10), Rate(2, 10), Rate(3, 10)).helps


def test_attempts_without_a_hint_and_broken_episodes_count_neither_way():
    result = probe_hints(episodes(3), ["a", None, "b"], lambda tasks, hints: [None, *episodes(len(tasks) - 1, 1.0)])
    assert (result.right, result.none) == (Rate(1, 1), Rate(1, 1))


def test_shuffling_always_changes_the_text():
    assert shuffled_hints(["a", "a", "b", "c"]) == ["b", "b", "c", "a"]
    assert shuffled_hints(["a", "a"]) == [None, None]
    assert shuffled_hints([]) == []


def test_wilson_interval_by_hand():
    # n = 10, 5 successes: 0.5 -/+ 0.263 (Wilson 95 %: 0.2366 to 0.7634)
    assert Rate(5, 10).interval == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert Rate(0, 0).interval == (0.0, 1.0)
