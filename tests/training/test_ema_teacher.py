import pytest
import torch

from healthgym.training.ema import EMATeacher
from healthgym.training.lowrank import average_products, factors_error

A, B = "layer.lora_A.weight", "layer.lora_B.weight"


def lora(seed: int, rank: int = 2) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {A: torch.randn(rank, 7, generator=generator), B: torch.randn(5, rank, generator=generator)}


def product(weights: dict[str, torch.Tensor]) -> torch.Tensor:
    return weights[B] @ weights[A]


def test_the_teacher_starts_equal_and_follows_the_closed_form():
    # Student fixed at 1 from a start of 0: after n updates phi = 1 - 0.9^n, so 1 - 0.9^3 = 0.271.
    teacher = EMATeacher({"w": torch.zeros(2)}, decay=0.9)
    assert teacher.distance({"w": torch.zeros(2)}) == 0.0
    for step in (1, 2, 3):
        assert teacher.after_step(step, {"w": torch.ones(2)}) == "update"
    torch.testing.assert_close(teacher.weights["w"], torch.full((2,), 0.271))
    assert teacher.distance({"w": torch.ones(2)}) == pytest.approx(0.729, abs=1e-6)


def test_updates_and_copies_fall_on_their_steps():
    teacher = EMATeacher({"w": torch.zeros(1)}, decay=0.5, update_every=2, copy_every=6)
    done = [teacher.after_step(step, {"w": torch.ones(1)}) for step in range(1, 8)]
    assert done == ["none", "update", "none", "update", "none", "copy", "none"]
    assert (teacher.updates, teacher.copies, teacher.age(7)) == (2, 1, 1)
    assert teacher.weights["w"].item() == 1.0


def test_alpha_one_without_a_copy_never_moves_and_a_frozen_teacher_stays():
    still = EMATeacher({"w": torch.zeros(1)}, decay=1.0)
    still.after_step(1, {"w": torch.ones(1)})
    assert still.weights["w"].item() == 0.0
    frozen = EMATeacher({"w": torch.zeros(1)}, decay=0.5, copy_every=1)
    frozen.is_frozen = True
    assert frozen.after_step(1, {"w": torch.ones(1)}) == "none"
    assert frozen.weights["w"].item() == 0.0


def test_averages_are_kept_in_float32_for_a_bfloat16_student():
    # A step of 0.001 vanishes in bfloat16 near 1 (spacing 0.0078), but not in the teacher.
    teacher = EMATeacher({"w": torch.ones(1, dtype=torch.bfloat16)}, decay=0.999)
    for step in range(1, 11):
        teacher.after_step(step, {"w": torch.full((1,), 2.0, dtype=torch.bfloat16)})
    assert teacher.weights["w"].item() == pytest.approx(2 - 0.999**10, abs=1e-6)


def test_the_teacher_does_not_share_memory_with_the_student():
    student = {"w": torch.zeros(1)}
    teacher = EMATeacher(student, decay=0.5)
    student["w"] += 1
    assert teacher.weights["w"].item() == 0.0


def test_resuming_is_bit_exact():
    def follow(teacher: EMATeacher, steps: range) -> None:
        for step in steps:
            teacher.after_step(step, lora(step))

    whole, first = EMATeacher(lora(0), decay=0.9, space="delta"), EMATeacher(lora(0), decay=0.9, space="delta")
    follow(whole, range(1, 9))
    follow(first, range(1, 5))
    second = EMATeacher(lora(99), decay=0.9, space="delta")
    second.load_state_dict(first.state_dict())
    follow(second, range(5, 9))
    assert all(torch.equal(whole.weights[name], second.weights[name]) for name in (A, B))
    assert (second.updates, second.changed_at) == (8, 8)


def test_a_teacher_of_other_parameters_is_refused():
    with pytest.raises(ValueError, match="other parameters"):
        EMATeacher({"w": torch.zeros(1)}, decay=0.5).load_state_dict(
            EMATeacher({"v": torch.zeros(1)}, decay=0.5).state_dict()
        )


def test_averaging_factors_is_not_averaging_their_product():
    # 1 x 1 factors: teacher 1 * 1, student 3 * 3, half and half: factors 2 * 2 = 4, product (1 + 9) / 2 = 5.
    one, three = torch.ones(1, 1), torch.full((1, 1), 3.0)
    factors = EMATeacher({A: one, B: one}, decay=0.5)
    factors.after_step(1, {A: three, B: three})
    assert product(factors.weights).item() == pytest.approx(4.0)
    assert factors.error == pytest.approx(0.2)
    delta = EMATeacher({A: one, B: one}, decay=0.5, space="delta")
    delta.after_step(1, {A: three, B: three})
    assert product(delta.weights).item() == pytest.approx(5.0)
    assert delta.error == pytest.approx(0.0, abs=1e-7)


def test_twice_the_rank_holds_the_first_average_exactly_and_once_the_rank_says_what_it_lost():
    exact = 0.6 * product(lora(0)) + 0.4 * product(lora(1))
    wide = EMATeacher(lora(0), decay=0.6, space="delta", rank_factor=2)
    torch.testing.assert_close(product(wide.weights), product(lora(0)))
    wide.after_step(1, lora(1))
    torch.testing.assert_close(product(wide.weights), exact, atol=1e-5, rtol=1e-5)
    narrow = EMATeacher(lora(0), decay=0.6, space="delta")
    narrow.after_step(1, lora(1))
    lost = (product(narrow.weights) - exact).norm() / exact.norm()
    assert narrow.error == pytest.approx(lost.item(), abs=1e-5)
    assert narrow.error > 0.05


def test_distance_compares_products_not_factors():
    # (2 B)(A / 2) is the same map.
    weights = lora(0)
    teacher = EMATeacher(weights, decay=0.5)
    assert teacher.distance({A: weights[A] / 2, B: weights[B] * 2}) == pytest.approx(0.0, abs=1e-6)
    # Teacher B A, student 2 B A: ||B A|| / ||2 B A|| = 0.5
    assert teacher.distance({A: weights[A], B: weights[B] * 2}) == pytest.approx(0.5, abs=1e-6)


def test_a_fresh_adapter_whose_b_is_zero_averages_to_zero():
    b, a, error = average_products(
        torch.zeros(5, 2), torch.randn(2, 7), torch.zeros(5, 2), torch.randn(2, 7), decay=0.9, rank=2
    )
    assert error == 0.0
    assert (b @ a).abs().max() == 0
    assert factors_error([], b, a, absolute=True) == 0.0


def test_a_wider_teacher_needs_product_space():
    with pytest.raises(ValueError, match="delta"):
        EMATeacher(lora(0), decay=0.9, rank_factor=2)
