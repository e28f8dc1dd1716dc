"""A contrast keeps of a hint what a wrong hint does not say; a shuffled hint is a control; both must act and be counted."""

import pytest
import torch
from test_distillation import compare, setup, student_inputs
from tiny import make_tokenizer

from healthgym.training import distillation as module
from healthgym.training.config import Hint
from healthgym.training.divergence import contrast_logps, full_divergence
from healthgym.training.hint_mixing import foreign_hints, wrong_hints
from healthgym.training.hints import HintFacts

KINDS = ["sampled", "topk", "full"]


@pytest.fixture(scope="module")
def tokenizer():
    return make_tokenizer()


def test_a_contrast_by_hand():
    # plain 1/2 1/2; right 3/4 1/4; wrong 1/4 3/4: plain * right / wrong = 3/2, 1/6; renormalised 9/10, 1/10
    right, wrong, plain = (torch.tensor(p).log() for p in ([0.75, 0.25], [0.25, 0.75], [0.5, 0.5]))
    torch.testing.assert_close(contrast_logps(right, wrong, plain).exp(), torch.tensor([0.9, 0.1]))


def test_what_every_hint_does_alike_cancels():
    style = torch.tensor([0.7, 0.2, 0.1]).log()  # both hints shift the teacher to the same distribution
    plain = torch.tensor([0.2, 0.3, 0.5]).log()
    torch.testing.assert_close(contrast_logps(style, style, plain), plain)


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_hint_equal_to_the_right_one_leaves_the_bare_teacher(tokenizer, kind, monkeypatch):
    model, _, distillation, episodes = setup(tokenizer, hint=Hint(contrast=True), kind=kind)
    monkeypatch.setattr(module, "wrong_hints", lambda facts, tasks, level: distillation.hints_of(episodes))
    distilled, _, _ = compare(distillation, model, episodes)
    # The teacher equals its student, so without the hint there is nothing to learn from it.
    assert distilled.per_trajectory.abs().max() < 1e-5


@pytest.mark.parametrize("kind", KINDS)
def test_a_contrast_is_not_the_plain_hint_and_not_nothing(tokenizer, kind):
    model, _, contrasted, episodes = setup(tokenizer, hint=Hint(contrast=True), kind=kind)
    with_contrast, _, _ = compare(contrasted, model, episodes)
    _, _, hinted, _ = setup(tokenizer, hint=Hint(), kind=kind)
    hinted.teacher = contrasted.teacher
    without, _, _ = compare(hinted if kind == "sampled" else _same_model(hinted, contrasted), model, episodes)
    assert (with_contrast.per_trajectory.abs() > 1e-5).all()
    assert not torch.allclose(with_contrast.per_trajectory, without.per_trajectory, atol=1e-5)
    assert contrasted.counts["hints_contrasted"] == 4


def _same_model(hinted, contrasted):
    contrasted.hint = Hint()
    return contrasted


def test_the_sampled_advantage_of_a_fresh_teacher_is_the_difference_of_two_readings(tokenizer):
    model, _, distillation, episodes = setup(tokenizer, hint=Hint(contrast=True), kind="sampled")
    distilled, _, view = compare(distillation, model, episodes)
    assert view.hints is not None
    advantage = -distilled.log_ratio
    expected = (view.hints.told - view.hints.wrong).masked_fill(~view.scored, 0.0)
    torch.testing.assert_close(advantage, expected, atol=1e-5, rtol=1e-4)
    assert expected.abs().max() > 1e-3


def test_the_full_divergence_is_from_the_contrast_of_three_passes(tokenizer):
    model, _, distillation, episodes = setup(tokenizer, hint=Hint(contrast=True), kind="full")
    one = episodes[:1]
    distilled, inputs, _ = compare(distillation, model, one)
    own = [i for i, m in enumerate(one[0].completion_mask) if m]
    told = {}
    for who in ("teacher", "wrong", "plain"):
        ids = torch.cat([inputs[f"{who}_prompt_ids"], inputs[f"{who}_completion_ids"]], 1)
        with torch.no_grad():
            logits = model(input_ids=ids).logits[0].log_softmax(-1)
        start = inputs[f"{who}_prompt_ids"].size(1)
        told[who] = torch.stack([logits[start + int(inputs[f"{who}_positions"][0, i]) - 1] for i in own])
    teacher = contrast_logps(told["teacher"], told["wrong"], told["plain"])
    by_token = full_divergence(told["plain"], teacher)  # the student reads what the bare teacher reads
    turns = inputs["turn_ids"][0][own]
    expected = torch.stack([by_token[turns == k].mean() for k in turns.unique()]).mean()
    torch.testing.assert_close(distilled.per_trajectory[0].detach(), expected, atol=1e-5, rtol=1e-4)


def test_a_wrong_hint_is_one_of_the_opposite_outcome_about_another_task():
    facts = [
        HintFacts(outcome="correct"), HintFacts(outcome="wrong"), HintFacts(outcome="wrong", missing_evidence=("x",)),
        HintFacts(outcome=None),
    ]  # fmt: skip
    wrong = wrong_hints(facts, ["a", "a", "b", "b"], "process")
    assert wrong[0] is not None and "wrong" in wrong[0] and "Not checked" in wrong[0]  # task b, not its own
    assert wrong[1] == wrong[2] == "Review of an attempt at this task: the decision was right."
    assert wrong[3] is None


def test_where_all_hints_read_alike_the_verdict_is_turned():
    facts = [HintFacts(outcome="wrong", missing_evidence=("x",))] * 2
    assert (
        wrong_hints(facts, ["a", "b"], "process") == ["Review of an attempt at this task: the decision was right."] * 2
    )


def test_foreign_hints_read_differently_and_prefer_another_task():
    hints = ["p", "q", "p", "r", None]
    assert foreign_hints(hints, ["a", "a", "a", "b", "b"]) == ["r", "r", "r", "p", None]
    assert foreign_hints(["p", "p"], ["a", "b"]) == [None, None]


def test_a_shuffled_teacher_reads_anothers_hint_and_the_probe_the_right_one(tokenizer):
    _, _, distillation, episodes = setup(tokenizer, hint=Hint(level="answer", shuffle=True))
    distillation.answer_of = lambda task_id: f"fever {'pain' if task_id == 'yes/0' else 'maybe'}"
    right = distillation.hints_of(episodes)
    tensors = distillation.attach(episodes, 40, 0)
    pain, maybe = (tokenizer.convert_tokens_to_ids(word) for word in ("pain", "maybe"))
    hints = tensors["teacher_prompt_ids"]
    assert "pain" in right[0] and all("maybe" in hint for hint in right[1:])
    count = [int((row == maybe).sum()) for row in hints]
    assert count[0] == 1 and int((hints[1] == pain).sum()) > int(
        (student_inputs(episodes)["prompt_ids"][1] == pain).sum()
    )
    assert distillation.counts["hints_shuffled"] == 4


def test_readings_of_a_wrong_hint_are_made_on_request_and_change_no_divergence(tokenizer):
    model, _, distillation, episodes = setup(tokenizer, hint=Hint())
    inputs = student_inputs(episodes)
    width = inputs["completion_ids"].size(1)
    assert "wrong_positions" not in distillation.attach(episodes, width, 0)
    plain, _, bare = compare(distillation, model, episodes)
    attach = distillation.attach
    distillation.attach = lambda *args: attach(*args, with_wrong=True)
    looked, _, view = compare(distillation, model, episodes)
    assert bare.hints is None and view.hints is not None
    assert (view.hints.told - view.hints.wrong)[view.hints.scored].abs().max() > 1e-4
    torch.testing.assert_close(looked.per_trajectory, plain.per_trajectory)
