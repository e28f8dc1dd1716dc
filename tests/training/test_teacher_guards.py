import math
import random

import pytest

from healthgym.training.guards import Finding, TeacherGuard, echo_share, slope


def guard() -> TeacherGuard:
    return TeacherGuard(kl_high=0.7, kl_slope=0.03, window=8, max_age=30, max_distance=0.3, max_leakage=0.05)


def run(kl: list[float], distance: list[float], *, age: int = 1, leakage: float | None = None) -> list[Finding]:
    watch, found = guard(), []
    for step, (one, far) in enumerate(zip(kl, distance, strict=True)):
        found += watch.observe(step, kl=one, distance=far, age=age, leakage=leakage)
    return found


def test_slope_of_a_line_is_its_step():
    assert slope([1.0, 1.5, 2.0, 2.5]) == pytest.approx(0.5)
    assert slope([4.0]) == 0.0


def test_the_published_collapse_trips_absorbed_drift_before_it_ends():
    # 0.3 -> 0.7 -> 1.5 in ten steps, with the teacher close behind the student.
    kl = [0.3] * 10 + [0.3 + 0.08 * n for n in range(6)] + [0.7 + 0.2 * n for n in range(5)]
    found = run(kl, [0.05] * len(kl))
    assert {finding.name for finding in found} == {"absorbed_drift"}
    assert kl[found[0].step] < 1.0
    assert "absorbs the drift" in found[0].message


def test_a_student_that_leaves_a_standing_teacher_is_not_called_absorbed():
    kl = [0.3 + 0.1 * n for n in range(15)]
    assert run(kl, [0.01 * 1.5**n for n in range(15)]) == []


def test_a_frozen_teacher_goes_stale_only_when_it_is_old_and_far():
    steady = [0.2] * 5
    assert [finding.name for finding in run(steady, [0.5] * 5, age=31)] == ["stale_teacher"] * 5
    assert run(steady, [0.5] * 5, age=30) == []
    assert run(steady, [0.2] * 5, age=99) == []


def test_leaked_wording_trips():
    assert {finding.name for finding in run([0.2], [0.1], leakage=0.06)} == {"leaked_hints"}


def test_a_healthy_run_trips_nothing():
    draw = random.Random(1)
    kl = [0.25 * math.exp(-n / 40) + 0.05 * draw.random() for n in range(100)]
    distance = [0.02 + 0.001 * min(n, 20) + 0.002 * draw.random() for n in range(100)]
    assert run(kl, distance, age=4, leakage=0.0) == []


def test_echoes_are_found_across_case_and_spacing():
    outputs = ["Review  of an ATTEMPT at this task: fine", "I order an ECG"]
    assert echo_share(outputs, ["review of an attempt at this task:"]) == 0.5
    assert echo_share([], ["x"]) == 0.0


def test_a_resumed_guard_trips_at_the_same_step():
    kl = [0.3 + 0.06 * n for n in range(12)]

    def steps(watch: TeacherGuard, span: range) -> list[int]:
        return [n for n in span if watch.observe(n, kl=kl[n], distance=0.1, age=1)]

    first, second = guard(), guard()
    head = steps(first, range(6))
    second.load_state_dict(first.state_dict())
    whole = steps(guard(), range(12))
    assert whole and head + steps(second, range(6, 12)) == whole
