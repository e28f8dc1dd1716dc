"""Metrics of one step, on three episodes small enough to count by hand."""

import json

import pytest

from healthgym.diagnostics import append_metrics, step_metrics
from healthgym.diagnostics.run import Run
from healthgym.diagnostics.text import foreign_share, is_degenerate, longest_run, repetition
from healthgym.rewards import Grade
from healthgym.rollout import Trajectory
from healthgym.tasks import HazardHit


def an_episode(task="t", group=0, *, domain="triage", reward=1.0, success=True, calls=(), turns=3, tokens=100, text="Fine.", hazard=False, **more):  # fmt: skip
    grade = Grade(
        success=success, outcome="correct" if success else "no_submission", evidence_share=1.0, missing_evidence=(),
        scores={"accuracy": reward, "process": 1.0, "safety": 1.0, "format": 1.0, "coherence": 1.0}, parts={},
        hazards=(HazardHit("overdose", "critical"),) if hazard else (),
    )  # fmt: skip
    return Trajectory(
        task_id=task, domain=domain, family="f", split="train", difficulty="easy", group=group, grade=grade,
        reward=reward, stop_reason="submitted", assistant_tokens=tokens, num_turns=turns, tool_calls=tuple(calls),
        messages=({"role": "assistant", "content": text},), **more,
    )  # fmt: skip


BATCH = [
    an_episode(calls=("ecg", "submit"), tokens=90),
    an_episode(reward=0.0, success=False, calls=("ecg", "ecg"), tool_failures=1, turns=1, tokens=150, clipped=True, hazard=True),
    an_episode("u", 1, domain="drugs", calls=("dose", "submit"), turns=2, tokens=60),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("completions/mean_length", 100.0),  # (90 + 150 + 60) / 3
        ("completions/clipped_ratio", 1 / 3),
        ("reward", 2 / 3),
        ("reward_std", 0.25),  # population deviation 0.5 in the first group, 0 in the second
        ("frac_reward_zero_std", 0.5),
        ("group/dead_share", 0.5),
        ("reward/accuracy/mean", 2 / 3),
        ("episode/success", 2 / 3),
        ("episode/turns", 2.0),
        ("episode/tool_calls", 2.0),
        ("episode/single_turn_share", 1 / 3),
        ("episode/hazards", 1 / 3),
        ("episode/no_submission", 1 / 3),
        ("tools/call_frequency", 2.0),
        ("tools/failure_frequency", 1 / 6),
        ("tools/count/ecg", 3.0),
        ("tools/count/dose", 1.0),
        ("domain/triage/success", 0.5),
        ("domain/drugs/success", 1.0),
        ("group/gradeable_share", 0.75),  # three graded, one lost
    ],
)
def test_a_metric_is_what_its_name_says(name, value):
    assert step_metrics(BATCH, ungraded=1)[name] == pytest.approx(value)


def test_every_metric_is_a_float_and_survives_the_file(tmp_path):
    metrics = step_metrics(BATCH)
    assert all(isinstance(value, float) for value in metrics.values())
    append_metrics(tmp_path, 7, metrics)
    assert json.loads((tmp_path / "metrics.jsonl").read_text()) == {"step": 7, **metrics}
    assert Run.load(tmp_path).family("tools")["ecg"].values == (3.0,)


def test_an_empty_step_is_refused():
    with pytest.raises(ValueError, match="no trajectories"):
        step_metrics([])


def test_repetition_is_the_share_of_ngrams_seen_before():
    # a b c d | b c d a | c d a b | d a b c | a b c d: one of five 4-grams was there before.
    assert repetition("a b c d a b c d") == pytest.approx(1 / 5)
    assert repetition("too short") == 0.0


def test_degenerate_text_is_told_from_plain_and_from_terse_text():
    assert is_degenerate("the patient is stable and " * 12)
    assert is_degenerate("患者の状態は安定していますので経過を観察してください痛みはありませんか大丈夫です")
    assert is_degenerate("!" * 60)
    assert not is_degenerate(
        "Chest pain radiating to the left arm with sweating, ECG shows ST elevation; ESI 1, cath lab now."
    )
    assert not is_degenerate("ok ok ok ok")
    assert foreign_share("β-blocker") == 0.0
    assert longest_run("aab   bbbb") == 4


def test_several_calls_in_a_turn_are_no_repetition():
    call = '<tool_call>{"name": "order_lab", "arguments": {"patient_id": "P1", "analyte": "sodium"}}</tool_call>\n'
    assert step_metrics([an_episode(text=call * 6)])["episode/repetition"] == 0.0
