from functools import partial
from math import log

import pytest
import torch

from healthgym.training.divergence import (
    DIRECTIONS,
    bound,
    chunked_divergence,
    full_divergence,
    k3_divergence,
    sampled_divergence,
    topk_divergence,
    vocabulary_divergence,
)
from healthgym.training.topk_heads import chunked_topk, sampled_logps


def logps(*probabilities: float) -> torch.Tensor:
    return torch.tensor([probabilities]).log()


def random_logps(*shape: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (2 * torch.randn(*shape, generator=generator, dtype=torch.float64)).log_softmax(-1)


def test_sampled_divergence_is_the_log_ratio_and_pushes_like_an_advantage():
    # d = log 0.8 - log 0.2 = log 4; its gradient to the student's log-probability is d itself, not 1.
    student = torch.tensor([[log(0.8)]], requires_grad=True)
    d = sampled_divergence(student, torch.tensor([[log(0.2)]]))
    d.sum().backward()
    assert d.item() == pytest.approx(log(4), abs=1e-6)
    assert student.grad.item() == pytest.approx(log(4), abs=1e-6)


def test_sampled_divergence_descends_the_reverse_kl():
    # Sum over the vocabulary of p(y) d(y) grad log p(y) must be the gradient of KL(p || q).
    logits = torch.tensor([0.3, -1.0, 0.8], dtype=torch.float64, requires_grad=True)
    teacher = torch.tensor([1.0, 0.2, -0.4], dtype=torch.float64).log_softmax(-1)
    student = logits.log_softmax(-1)
    exact = torch.autograd.grad(full_divergence(student, teacher), logits, retain_graph=True)[0]
    expected = (student.exp().detach() * sampled_divergence(student, teacher)).sum()
    torch.testing.assert_close(torch.autograd.grad(expected, logits)[0], exact)


def test_clip_bounds_the_sampled_log_ratio_on_both_sides_and_the_others_from_above():
    student, teacher = torch.tensor([[0.0, -9.0]]), torch.tensor([[-9.0, 0.0]])
    torch.testing.assert_close(sampled_divergence(student, teacher, clip=2.0), torch.tensor([[2.0, -2.0]]))
    torch.testing.assert_close(bound(torch.tensor([0.5, 9.0, -1e-9]), 2.0), torch.tensor([0.5, 2.0, 0.0]))


def test_k3_is_zero_at_the_teacher_and_never_negative():
    # r = 2: 2 - 1 - log 2 = 0.306853
    d = k3_divergence(torch.tensor([[log(0.2), log(0.5)]]), torch.tensor([[log(0.4), log(0.5)]]))
    torch.testing.assert_close(d, torch.tensor([[2 - 1 - log(2), 0.0]]))


def test_full_divergence_in_each_direction_by_hand():
    p, q = logps(0.5, 0.5), logps(0.25, 0.75)
    # KL(p||q) = 0.5 log 2 + 0.5 log(2/3) = 0.143841; KL(q||p) = 0.25 log 0.5 + 0.75 log 1.5 = 0.130812
    assert full_divergence(p, q).item() == pytest.approx(0.5 * log(2) + 0.5 * log(2 / 3), abs=1e-6)
    assert full_divergence(p, q, direction="forward").item() == pytest.approx(
        0.25 * log(0.5) + 0.75 * log(1.5), abs=1e-6
    )
    # m = 0.375, 0.625: 0.5 (0.25 log(2/3) + 0.75 log 1.2) + 0.5 (0.5 log(4/3) + 0.5 log 0.8) = 0.033822
    expected = 0.5 * (0.25 * log(2 / 3) + 0.75 * log(1.2)) + 0.5 * (0.5 * log(4 / 3) + 0.5 * log(0.8))
    assert full_divergence(p, q, direction="jsd").item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("direction", ["reverse", "forward", "jsd"])
def test_equal_distributions_have_no_divergence(direction: str):
    p = random_logps(4, 11, seed=0)
    torch.testing.assert_close(full_divergence(p, p, direction=direction), torch.zeros(4, dtype=torch.float64))


@pytest.mark.parametrize("direction", ["reverse", "forward", "jsd"])
def test_topk_with_tail_is_a_lower_bound_that_meets_the_full_divergence_at_k_equals_v(direction: str):
    p, q = random_logps(50, 17, seed=1), random_logps(50, 17, seed=2)
    exact = full_divergence(p, q, direction=direction)
    bounds = [topk_divergence(p, q, k=k, direction=direction) for k in (1, 4, 16, 17)]
    assert all((lower <= exact + 1e-9).all() for lower in bounds)
    assert (bounds[0] < exact - 1e-3).any()
    torch.testing.assert_close(bounds[-1], exact)
    assert (bounds[1] >= 0).all()


def test_topk_by_hand():
    # Student 0.5, 0.3, 0.2; teacher 0.2, 0.3, 0.5; k = 1 keeps id 0: 0.5 log 2.5 + 0.5 log(0.5 / 0.8) = 0.223144
    d = topk_divergence(logps(0.5, 0.3, 0.2), logps(0.2, 0.3, 0.5), k=1)
    assert d.item() == pytest.approx(0.5 * log(2.5) + 0.5 * log(0.625), abs=1e-6)


def test_a_tail_without_mass_has_finite_gradients():
    logits = torch.tensor([[200.0, 0.0, -200.0]], requires_grad=True)
    topk_divergence(logits.log_softmax(-1), logps(0.2, 0.3, 0.5), k=2).sum().backward()
    assert torch.isfinite(logits.grad).all()


@pytest.mark.parametrize("kind", ["full", "topk"])
def test_chunked_heads_equal_the_naive_form_in_value_and_gradient(kind: str):
    torch.manual_seed(3)
    hidden = torch.randn(13, 6, requires_grad=True)
    weight = torch.randn(29, 6, requires_grad=True)
    teacher_hidden, teacher_weight = torch.randn(13, 5), torch.randn(29, 5)
    divergence = vocabulary_divergence(kind, k=4)

    def naive() -> torch.Tensor:
        student = (hidden @ weight.T / 0.7).log_softmax(-1)
        return divergence(student, (teacher_hidden @ teacher_weight.T / 0.7).log_softmax(-1))

    chunked = partial(chunked_divergence, divergence=divergence, temperature=0.7, chunk_size=4)
    ours = chunked(hidden, weight, teacher_hidden, teacher_weight)
    torch.testing.assert_close(ours, naive(), atol=1e-6, rtol=1e-6)
    upstream = torch.randn(13)
    expected = torch.autograd.grad((naive() * upstream).sum(), (hidden, weight))
    got = torch.autograd.grad((ours * upstream).sum(), (hidden, weight))
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)


def test_chunked_heads_refuse_misaligned_positions():
    with pytest.raises(ValueError, match="positions"):
        chunked_divergence(
            torch.zeros(2, 3), torch.zeros(5, 3), torch.zeros(1, 3), torch.zeros(5, 3), divergence=full_divergence
        )


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="direction"):
        full_divergence(logps(1.0), logps(1.0), direction="sideways")
    with pytest.raises(ValueError, match="topk or full"):
        vocabulary_divergence("sampled")


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("contrast", [False, True])
def test_a_teacher_read_once_gives_the_same_values_and_gradients(direction: str, contrast: bool):
    torch.manual_seed(0)
    hidden, weight = torch.randn(11, 5, requires_grad=True), torch.randn(30, 5, requires_grad=True)
    bias = torch.randn(30, requires_grad=True)
    teacher = torch.randn(11, 3, 5) if contrast else torch.randn(11, 5)
    teacher_weight, teacher_bias, pull = torch.randn(30, 5), torch.randn(30), torch.randn(11)
    both = {"temperature": 0.7, "bias": bias, "teacher_bias": teacher_bias, "chunk_size": 4}
    compare = vocabulary_divergence("topk", k=6, direction=direction, beta=0.3)
    slow = chunked_divergence(hidden, weight, teacher, teacher_weight, divergence=compare, **both)
    fast = chunked_topk(hidden, weight, teacher, teacher_weight, k=6, direction=direction, beta=0.3, **both)
    assert torch.equal(slow, fast)
    leaves = [hidden, weight, bias]
    for one, other in zip(
        torch.autograd.grad(slow, leaves, pull), torch.autograd.grad(fast, leaves, pull), strict=True
    ):
        torch.testing.assert_close(other, one, atol=1e-6, rtol=1e-6)


def test_a_teacher_read_once_leaves_a_frozen_head_alone_and_takes_no_positions():
    torch.manual_seed(0)
    hidden, weight = torch.randn(3, 5, requires_grad=True), torch.randn(30, 5)
    chunked_topk(hidden, weight, torch.randn(3, 5), torch.randn(30, 5), k=6).sum().backward()
    assert hidden.grad is not None and hidden.grad.abs().sum() > 0 and weight.grad is None
    none = torch.zeros(0, 5, requires_grad=True)
    value = chunked_topk(none, weight, torch.zeros(0, 5), weight, k=6)
    assert value.shape == (0,)
    value.sum().backward()


def test_the_log_probability_of_one_id_by_hand():
    # Logits (0, log 3) give 1/4 and 3/4; at temperature 1/2 they are (0, log 9): 1/10 and 9/10.
    weight = torch.tensor([[0.0], [log(3.0)]])
    found = sampled_logps(torch.ones(3, 1), weight, None, torch.tensor([0, 1, 1]), temperature=0.5, chunk_size=2)
    torch.testing.assert_close(found.exp(), torch.tensor([0.1, 0.9, 0.9]))
