"""The table of known collapses, row by row: a synthetic run of each trips its detector, and a healthy one none."""

import pytest
from synthetic_runs import ramp, rows

from healthgym.diagnostics import verdict
from healthgym.diagnostics.run import Run
from healthgym.training.guards import TeacherGuard
from healthgym.training.schedule import Lambda

TT_OPD = {"hint": {"level": "process", "shuffle": False}, "teacher": {"update_every": 1, "ema_decay": 0.9}}
TABLE = {
    "teacher absorbs drift": (
        {"tt_opd/kl": lambda p: 0.3 if p < 0.8 else 0.3 + 6.0 * (p - 0.8), "tt_opd/teacher_distance": ramp(0.05, 0.05)},
        "absorbing_teacher",
    ),
    "frozen teacher goes stale": (
        {"tt_opd/teacher_age": lambda p: 200 * p, "tt_opd/teacher_distance": ramp(0.0, 0.6), "tt_opd/lambda": ramp(0.5, 0.5)},
        "stale_teacher",
    ),
    "frozen teacher caps the student": (
        {"tt_opd/teacher_share": ramp(0.02, 0.1), "tt_opd/lambda": ramp(1.0, 1.0)}, "anchored_teacher",
    ),
    "length explosion by slope": (
        {"completions/mean_length": ramp(84, 210), "episode/success": ramp(0.3, 0.1)}, "length_explosion",
    ),
    "length explosion by clip share": ({"completions/clipped_ratio": ramp(0.05, 0.92)}, "clipping"),
    "length shrinks": (
        {"completions/mean_length": ramp(84, 6), "episode/tool_calls": ramp(0.78, 0.0), "episode/success": ramp(0.2, 0.0)},
        "length_shrinking",
    ),
    "turns collapse": (
        {"episode/turns": ramp(6.0, 1.6), "episode/tool_calls": ramp(6.0, 2.0), "episode/success": ramp(0.4, 0.4)},
        "turn_collapse",
    ),
    "tool calls collapse while reward rises": (
        {"episode/tool_calls": ramp(0.76, 0.02), "reward": ramp(0.2, 0.53), "episode/success": ramp(0.14, 0.14)},
        "tool_use_collapse",
    ),
    "single-turn share": ({"episode/single_turn_share": ramp(0.05, 0.95)}, "single_turn"),
    "repetition": ({"episode/repetition": ramp(0.08, 0.75)}, "degenerate_text"),
    "foreign runs and word salad": ({"episode/degenerate": ramp(0.0, 0.5)}, "degenerate_text"),
    "hint wording leaks": ({"episode/hint_echo": ramp(0.0, 0.2)}, "hint_echo"),
    "hint holds the answer": ({"tt_opd/kl_correct": ramp(0.02, 0.31)}, "leaking_hints"),
    "hint content is not read": ({"tt_opd/hint_gap": ramp(0.0, 0.0)}, "inert_mechanism"),
}  # fmt: skip


def judged(tmp_path, bent, seed=0, config=TT_OPD):
    found = verdict(Run(path=tmp_path, rows=tuple(rows(seed, **bent)), config=config))
    return found, {finding.name for finding in found.findings}


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_each_row_of_the_table_trips_its_detector(tmp_path, name, seed):
    bent, expected = TABLE[name]
    found, tripped = judged(tmp_path, bent, seed)
    assert expected in tripped, sorted(tripped)
    assert found.status in ("warning", "collapsed")


@pytest.mark.parametrize("seed", range(20))
def test_a_healthy_run_trips_none(tmp_path, seed):
    found, tripped = judged(tmp_path, {}, seed)
    assert (found.status, tripped) == ("healthy", set())


def test_distillation_that_was_lowered_never_comes_back_on():
    # The break-down of a term switched off and on again cannot be configured: whatever is observed, lambda only falls.
    weight = Lambda(1.0, steps=50, shape="cosine", kl_high=0.7, smoothing=0.0, cooldown=1)
    values = []
    for step, kl in enumerate([0.1] * 5 + [1.5] * 5 + [0.0] * 30):
        values.append(weight.value(step))
        weight.observe(kl)
    assert values == sorted(values, reverse=True) and weight.ratchets > 1


def test_the_guard_acts_within_the_run_before_the_verdict_is_in():
    guard = TeacherGuard(kl_high=0.7, kl_slope=0.03, window=8, max_age=100, max_distance=0.3, max_leakage=0.02)
    published = [0.3] * 8 + [0.4, 0.5, 0.6, 0.7, 0.9, 1.1, 1.3, 1.5]
    tripped = [bool(guard.observe(n, kl=kl, distance=0.05, age=1)) for n, kl in enumerate(published, start=1)]
    assert not any(tripped[:9]) and any(tripped[9:13])  # while the divergence is still below 1
    healthy = TeacherGuard(kl_high=0.7, kl_slope=0.03, window=8, max_age=100, max_distance=0.3, max_leakage=0.02)
    assert not any(healthy.observe(n, kl=0.1 + 0.001 * n, distance=0.05, age=n % 5, leakage=0.0) for n in range(60))


@pytest.mark.parametrize(
    ("hint", "divergence", "counters", "words"),
    [
        ({"shuffle": True}, {}, {"tt_opd/hints_shuffled": 0.0}, "hint.shuffle"),
        ({"contrast": True}, {}, {"tt_opd/hints_contrasted": 0.0}, "hint.contrast"),
        ({}, {"mode": "rl_sign"}, {"tt_opd/sign_change": 0.0}, "never changed an advantage"),
    ],
)
def test_a_mechanism_whose_counter_stays_at_zero_is_named(tmp_path, hint, divergence, counters, words):
    made = tuple({**row, **counters} for row in rows())
    config = {**TT_OPD, "hint": hint, "divergence": divergence}
    found = verdict(Run(path=tmp_path, rows=made, config=config))
    assert words in next(f.message for f in found.findings if f.name == "inert_mechanism")
