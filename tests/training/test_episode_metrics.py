import pytest

from healthgym.rewards import Grade
from healthgym.rollout import Trajectory
from healthgym.training.degenerate import is_degenerate, longest_run, repetition
from healthgym.training.episode_metrics import episode_sums, merge_sums


def episode(
    success: bool, *, turns: int = 2, calls: tuple[str, ...] = (), text: str = "ok", task: str = "t"
) -> Trajectory:
    grade = Grade(
        success=success,
        outcome="correct" if success else "wrong",
        scores={"accuracy": float(success), "safety": 1.0},
        evidence_share=1.0,
        missing_evidence=(),
        hazards=(),
        parts={},
    )
    return Trajectory(
        task_id=task, domain="d", family="f", split="train", difficulty="easy", grade=grade, reward=float(success),
        stop_reason="submitted", num_turns=turns, tool_calls=calls, tool_failures=1 if calls else 0,
        messages=[{"role": "user", "content": "?"}, {"role": "assistant", "content": text}],
    )  # fmt: skip


def test_means_over_episodes_and_labels():
    sums = episode_sums([episode(True, calls=("a", "a")), episode(False, turns=1)], 2)
    metrics = merge_sums([sums])
    assert metrics["episode/success"] == 0.5
    assert metrics["episode/turns"] == 1.5
    assert metrics["episode/single_turn_share"] == 0.5
    assert metrics["tools/call_frequency"] == 1.0
    assert metrics["tools/calls/a"] == 1.0
    assert metrics["tools/failure_frequency"] == 0.5
    assert metrics["episode/outcome/correct"] == 0.5


def test_a_score_that_never_varies_within_a_group_is_visible():
    metrics = merge_sums(
        [episode_sums([episode(True), episode(False), episode(True, task="u"), episode(True, task="u")], 2)]
    )
    assert metrics["episode/score_varies/accuracy"] == 0.5
    assert metrics["episode/score_varies/safety"] == 0.0


def test_processes_add_up_as_if_there_were_one():
    episodes = [episode(True, calls=("a",)), episode(False), episode(False), episode(True, calls=("b", "b"))]
    apart = merge_sums([episode_sums(episodes[:1], 2), episode_sums(episodes[1:], 2)])
    whole = merge_sums([episode_sums(episodes, 2)])
    for name in ("episode/success", "episode/turns", "tools/calls/a", "tools/calls/b", "episode/outcome/wrong"):
        assert apart[name] == pytest.approx(whole[name]), name


def test_repetition_counts_repeated_word_sequences():
    # "a b a b a b": 2-grams ab ba ab ba ab, 2 of 5 new.
    assert repetition("a b a b a b", n=2) == pytest.approx(0.6)
    assert repetition("one two") == 0.0


def test_text_that_falls_apart_is_degenerate_and_parallel_calls_are_not():
    assert is_degenerate("the dose is the dose is " * 8)
    assert is_degenerate("血压很高需要立即处理病人情况危急请医生马上过来看一下谢谢")
    assert is_degenerate("no" + "o" * 60)
    call = '<tool_call>{"name": "get_vitals", "arguments": {"patient_id": "P1"}}</tool_call>'
    assert not is_degenerate(call * 12)
    assert not is_degenerate("The patient is stable, so I will discharge with advice and a follow-up in two weeks.")
    assert longest_run("aab   bb") == 2
