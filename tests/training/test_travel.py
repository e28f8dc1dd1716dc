import pytest
import torch

from healthgym.training.travel import Travel


def test_the_share_of_the_way_by_hand():
    start = {"w": torch.zeros(2, 2)}
    travel = Travel(start)
    # The student went 4 in every entry, the teacher 1.
    assert travel.share({"w": torch.full((2, 2), 4.0)}, {"w": torch.ones(2, 2)}) == pytest.approx(0.25)
    assert travel.share(start, start) is None


def test_adapters_are_compared_by_what_they_do():
    torch.manual_seed(0)
    start = {"q.lora_A": torch.randn(2, 6), "q.lora_B": torch.zeros(5, 2)}
    student = {"q.lora_A": torch.randn(2, 6), "q.lora_B": torch.randn(5, 2)}
    turn = torch.linalg.qr(torch.randn(2, 2)).Q
    same = {"q.lora_A": turn.T @ student["q.lora_A"], "q.lora_B": student["q.lora_B"] @ turn}
    half = {"q.lora_A": student["q.lora_A"], "q.lora_B": student["q.lora_B"] / 2}
    travel = Travel(start)
    assert travel.share(student, same) == pytest.approx(1.0)
    assert travel.share(student, half) == pytest.approx(0.5)


def test_the_start_survives_a_resume():
    travel = Travel({"w": torch.zeros(3)})
    again = Travel({"w": torch.ones(3)})
    again.load_state_dict(travel.state_dict())
    assert again.share({"w": torch.ones(3)}, {"w": torch.ones(3)}) == pytest.approx(1.0)
