import pytest
import torch
from torch import nn

from healthgym.errors import ConfigError
from healthgym.training.teacher import LiveTeacher


def adapted() -> nn.Module:
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(0)
    base = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 3))
    model = get_peft_model(base, LoraConfig(r=2, lora_alpha=4, target_modules=["0", "2"]))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_()
    return model


X = torch.ones(2, 4)


def push(model: nn.Module, by: float = 0.5) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter += by


@pytest.mark.parametrize("space", ["factors", "delta"])
def test_the_teacher_starts_as_the_student_and_lags_behind_it(space: str):
    model = adapted()
    teacher = LiveTeacher(model, decay=0.5, space=space)
    start = model(X)
    push(model)
    with teacher.active() as same:
        torch.testing.assert_close(same(X), start)
    moved = model(X)
    assert (moved - start).abs().max() > 0.1
    assert teacher.follow(1) == "update"
    with teacher.active() as same:
        lagging = same(X)
    assert (lagging - start).abs().max() > 0.01 and (lagging - moved).abs().max() > 0.01
    torch.testing.assert_close(model(X), moved)


def test_a_teacher_of_twice_the_rank_runs_in_the_same_modules():
    model = adapted()
    teacher = LiveTeacher(model, decay=0.5, space="delta", rank_factor=2)
    start = model(X)
    push(model)
    with teacher.active() as same:
        torch.testing.assert_close(same(X), start)
    assert all(parameter.shape[0] == 2 for name, parameter in teacher.parameters.items() if "lora_A" in name)


def test_the_student_comes_back_untouched_even_after_an_error():
    model = adapted().train()
    teacher = LiveTeacher(model, decay=0.9)
    before = {name: parameter.data_ptr() for name, parameter in teacher.parameters.items()}
    push(model)
    expected = model(X).detach().clone()
    with pytest.raises(RuntimeError, match="boom"), teacher.active() as same:
        assert not same.training
        assert not same(X).requires_grad
        raise RuntimeError("boom")
    assert model.training
    assert {name: parameter.data_ptr() for name, parameter in teacher.parameters.items()} == before
    torch.testing.assert_close(model(X), expected)


def test_the_frozen_base_and_the_optimiser_never_hold_the_teacher():
    model = adapted()
    teacher = LiveTeacher(model, decay=0.9)
    assert all("lora" in name for name in teacher.parameters)
    held = {parameter.data_ptr() for parameter in model.parameters()}
    assert all(tensor.data_ptr() not in held for tensor in teacher.ema.weights.values())
    assert not any(tensor.requires_grad for tensor in teacher.ema.weights.values())


def test_a_bfloat16_student_is_run_in_bfloat16_from_float32_averages():
    model = nn.Linear(4, 4).bfloat16()
    teacher = LiveTeacher(model, decay=0.999)
    push(model, 1.0)
    teacher.follow(1)
    with teacher.active() as same:
        assert same.weight.dtype == torch.bfloat16
    assert teacher.ema.weights["weight"].dtype == torch.float32


def test_a_teacher_without_anything_to_follow_is_refused():
    frozen = nn.Linear(2, 2).requires_grad_(False)
    with pytest.raises(ConfigError, match="no trainable"):
        LiveTeacher(frozen, decay=0.9)
    with pytest.raises(ConfigError, match="no LoRA"):
        LiveTeacher(nn.Linear(2, 2), decay=0.9, space="delta")
