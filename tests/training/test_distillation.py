import pytest
import torch
from tiny import YesEnvironment, make_model, make_rows, make_tokenizer

from healthgym.errors import ConfigError
from healthgym.training.config import Divergence, Hint, Turns
from healthgym.training.distillation import Distillation
from healthgym.training.heads import check_plain_head
from healthgym.training.teacher import LiveTeacher
from healthgym.training.teacher_context import HintRenderer, pad_rows

KINDS = ["sampled", "k3", "topk", "full"]


@pytest.fixture(scope="module")
def tokenizer():
    return make_tokenizer()


def scorer(model, ids, mask, keep):
    logits = model(input_ids=ids, attention_mask=mask).logits[:, -keep - 1 : -1]
    return logits.log_softmax(-1).gather(-1, ids[:, -keep:, None])[..., 0], None, None


def setup(tokenizer, *, hint=None, kind="full", turns=None, lora=False, max_context=None):
    model = make_model(tokenizer, lora=lora)
    teacher = LiveTeacher(model, decay=0.5)
    renderer = HintRenderer(tokenizer, {})
    distillation = Distillation(
        teacher, renderer, hint=hint, turns=turns or Turns(start=9, max=9), max_context=max_context,
        divergence=Divergence(kind=kind, k=6, clip=None, chunk_size=3),
    )  # fmt: skip
    episodes = YesEnvironment(tokenizer, model)(make_rows(4), 0)
    return model, teacher, distillation, episodes


def student_inputs(episodes, pad=0, extra=0):
    width = max(len(t.completion_ids) for t in episodes) + extra
    prompts = [list(t.prompt_ids) for t in episodes]
    return {
        "prompt_ids": pad_rows(prompts, pad, side="left", width=extra),
        "prompt_mask": pad_rows([[1] * len(p) for p in prompts], 0, side="left", width=extra),
        "completion_ids": pad_rows([t.completion_ids for t in episodes], pad, width=width),
        "completion_mask": pad_rows([[1] * len(t.completion_ids) for t in episodes], 0, width=width),
    }


def compare(distillation, model, episodes, *, extra=0, step=0):
    inputs = student_inputs(episodes, extra=extra)
    inputs |= distillation.attach(episodes, inputs["completion_ids"].size(1), 0)
    view = distillation.score(inputs, scorer)
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
    mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
    with distillation.capturing() as captured:
        logps, _, _ = scorer(model, ids, mask, inputs["completion_ids"].size(1))
    return distillation.compare(inputs, view, logps, captured[-1] if captured else None, step=step), inputs, view


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_hint_a_teacher_equal_to_its_student_diverges_by_exactly_zero(tokenizer, kind):
    model, _, distillation, episodes = setup(tokenizer, kind=kind)
    distilled, _, _ = compare(distillation, model, episodes)
    assert distilled.table.eligible.all()
    assert torch.equal(distilled.per_trajectory.detach().abs().max(), torch.tensor(0.0))


@pytest.mark.parametrize("where", ["prompt", "every_turn"])
def test_a_hint_changes_what_the_teacher_thinks_and_nothing_the_student_sees(tokenizer, where):
    model, _, distillation, episodes = setup(tokenizer, hint=Hint(level="process", where=where))
    bare = student_inputs(episodes)
    distilled, inputs, view = compare(distillation, model, episodes)
    assert (distilled.per_trajectory > 1e-4).all()
    assert distillation.counts["hints_fired"] == 4
    for name, tensor in bare.items():
        assert torch.equal(inputs[name], tensor)
    assert inputs["teacher_prompt_ids"].size(1) > inputs["prompt_ids"].size(1)
    assert torch.equal(view.scored, inputs["turn_ids"] >= 0)
    if where == "every_turn":
        assert inputs["teacher_completion_ids"].size(1) > inputs["completion_ids"].size(1)


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing(tokenizer, kind):
    model, _, distillation, episodes = setup(tokenizer, hint=Hint(), kind=kind)
    tight, _, _ = compare(distillation, model, episodes)
    wide, _, _ = compare(distillation, model, episodes, extra=7)
    torch.testing.assert_close(tight.per_trajectory, wide.per_trajectory, atol=1e-6, rtol=1e-5)
    alone = [compare(distillation, model, [one])[0].per_trajectory[0] for one in episodes]
    torch.testing.assert_close(torch.stack(alone), tight.per_trajectory, atol=1e-6, rtol=1e-5)


def test_topk_with_every_id_equals_full_and_few_ids_bound_it(tokenizer):
    model, _, distillation, episodes = setup(tokenizer, hint=Hint())
    full = compare(distillation, model, episodes)[0].per_trajectory
    distillation.divergence = Divergence(kind="topk", k=6, clip=None)
    few = compare(distillation, model, episodes)[0].per_trajectory
    assert (few <= full + 1e-7).all() and (few < full).any()
    distillation.divergence = Divergence(kind="topk", k=999, clip=None)
    torch.testing.assert_close(compare(distillation, model, episodes)[0].per_trajectory, full)


def test_environment_tokens_have_no_gradient(tokenizer):
    _, _, distillation, episodes = setup(tokenizer, hint=Hint(), kind="k3")
    inputs = student_inputs(episodes)
    inputs |= distillation.attach(episodes, inputs["completion_ids"].size(1), 0)
    view = distillation.score(inputs, scorer)
    logps = torch.zeros_like(view.logps).requires_grad_()
    distillation.compare(inputs, view, logps, None, step=0).per_trajectory.sum().backward()
    policy = pad_rows([t.completion_mask for t in episodes], 0).bool()
    assert (logps.grad[~policy] == 0).all()
    assert (logps.grad[policy] != 0).all()


@pytest.mark.parametrize("kind", ["k3", "sampled"])
def test_environment_tokens_that_the_student_finds_impossible_leave_the_gradient_finite(tokenizer, kind):
    _, _, distillation, episodes = setup(tokenizer, hint=Hint(), kind=kind)
    inputs = student_inputs(episodes)
    inputs |= distillation.attach(episodes, inputs["completion_ids"].size(1), 0)
    view = distillation.score(inputs, scorer)
    policy = pad_rows([t.completion_mask for t in episodes], 0).bool()
    # exp(120) is infinite in float32. Sampled tokens are never that unlikely; what a tool writes may be.
    logps = torch.where(policy, -1.0, -120.0).requires_grad_()
    distillation.compare(inputs, view, logps, None, step=0).per_trajectory.sum().backward()
    assert torch.isfinite(logps.grad).all()
    assert (logps.grad[~policy] == 0).all() and (logps.grad[policy] != 0).any()


def test_sampled_is_a_per_token_advantage_of_minus_d_weighed_by_turn(tokenizer):
    turns = Turns(start=9, max=9, weights="decay", gamma=0.5, tokens_per_turn=3)
    _, _, distillation, episodes = setup(tokenizer, hint=Hint(), kind="sampled", turns=turns)
    inputs = student_inputs(episodes)
    inputs |= distillation.attach(episodes, inputs["completion_ids"].size(1), 0)
    view = distillation.score(inputs, scorer)
    logps = (view.logps + 0.3).requires_grad_()  # d is 0.3 everywhere
    distilled = distillation.compare(inputs, view, logps, None, step=0)
    distilled.per_trajectory.sum().backward()
    # The policy gradient with advantage A is -A times the gradient of log pi: here 0.3 times each token's weight.
    torch.testing.assert_close(logps.grad, 0.3 * distilled.table.token_weights)
    # Two turns weigh 1 and 1/2, a third token of the first (1 / 1.5) / 3 where the turn has three or more.
    long = next(i for i, one in enumerate(episodes) if one.turns[0].end - one.turns[0].start >= 3)
    assert distilled.table.token_weights[long, 0].item() == pytest.approx(1 / 1.5 / 3)


def test_the_curriculum_lets_later_turns_in(tokenizer):
    turns = Turns(start=1, grow_every=10, max=2)
    model, _, distillation, episodes = setup(tokenizer, hint=Hint(), turns=turns)
    first, _, _ = compare(distillation, model, episodes, step=9)
    both, _, _ = compare(distillation, model, episodes, step=10)
    assert first.table.used.sum(1).tolist() == [1] * 4
    assert both.table.used.sum(1).tolist() == [2] * 4
    assert not torch.allclose(first.per_trajectory, both.per_trajectory)


def test_tokens_past_the_context_are_dropped_and_counted(tokenizer):
    model, _, distillation, episodes = setup(tokenizer, hint=Hint(), max_context=24)
    _, inputs, view = compare(distillation, model, episodes)
    policy = inputs["turn_ids"] >= 0
    assert distillation.counts["tokens_dropped"] == int((policy & ~view.scored).sum()) > 0


def test_a_failed_episode_has_no_hint_and_no_divergence(tokenizer):
    _, _, distillation, episodes = setup(tokenizer, hint=Hint())
    tensors = distillation.attach([*episodes[:1], None], 40, 0)
    assert distillation.counts["hints/unknown"] == 1 and distillation.counts["hints_fired"] == 1
    assert (tensors["teacher_positions"][1] == -1).all() and not tensors["is_correct"][1]


def test_the_gold_reaches_the_teacher_at_the_answer_level_alone(tokenizer):
    for level, expected in (("process", False), ("answer", True)):
        _, _, distillation, episodes = setup(tokenizer, hint=Hint(level=level))
        distillation.answer_of = lambda task_id: "fever"
        ids = distillation.attach(episodes, 40, 0)["teacher_prompt_ids"]
        assert bool((ids == tokenizer.convert_tokens_to_ids("fever")).any()) is expected


def test_lora_students_are_distilled_too(tokenizer):
    model, teacher, distillation, episodes = setup(tokenizer, hint=Hint(), lora=True, kind="topk")
    distilled, _, _ = compare(distillation, model, episodes)
    distilled.per_trajectory.mean().backward()
    norms = [p.grad.norm() for n, p in teacher.parameters.items() if "lora_B" in n and p.grad is not None]
    assert norms and max(norms) > 0


def test_models_that_cap_their_logits_are_refused(tokenizer):
    model = make_model(tokenizer)
    check_plain_head(model)
    model.config.final_logit_softcapping = 30.0
    with pytest.raises(ConfigError, match="final_logit_softcapping"):
        check_plain_head(model)
