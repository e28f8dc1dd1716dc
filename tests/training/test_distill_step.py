from collections import Counter
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from torch import nn

from healthgym.training.distill_step import DistillStep
from healthgym.training.distillation import Distilled, TeacherView
from healthgym.training.guards import TeacherGuard
from healthgym.training.schedule import Lambda
from healthgym.training.teacher import LiveTeacher
from healthgym.training.teacher_gate import TeacherGate
from healthgym.training.turns import trajectory_divergence, turn_table

CPU = Accelerator(cpu=True)
TURNS = torch.tensor([[0, 0, -1, 1], [0, -1, -1, -1]])


class FixedDistillation:
    """D(tau) of two trajectories, given by hand."""

    def __init__(self, kl: float) -> None:
        self.kl, self.hint, self.counts, self.log_ratio = kl, None, Counter(), torch.zeros(2, 4)
        self.weights, self.stop_kl = "uniform", None
        torch.manual_seed(0)
        self.teacher = LiveTeacher(nn.Linear(2, 2), decay=0.5)

    def compare(self, inputs: Any, view: TeacherView, logps: torch.Tensor, hidden: Any, *, step: int) -> Distilled:
        per_token = torch.full((2, 4), self.kl) * logps.exp()
        table = turn_table(per_token, TURNS, max_turns=9, weights=self.weights, stop_kl=self.stop_kl)
        return Distilled(trajectory_divergence(per_token, table), table, self.log_ratio, logps.detach())


def make(kl: float, **options: Any) -> DistillStep:
    guard = TeacherGuard(kl_high=0.7, kl_slope=0.03, window=4, max_age=3, max_distance=0.1, max_leakage=0.1)
    weight = Lambda(0.5, steps=100, shape="constant", kl_high=0.7, smoothing=0.0, cooldown=3)
    return DistillStep(FixedDistillation(kl), weight, guard, **options)  # type: ignore[arg-type]


def one_step(step: DistillStep, number: int) -> dict[str, float]:
    step.begin(number - 1)
    inputs = {"turn_ids": TURNS, "is_correct": torch.tensor([True, False])}
    view = TeacherView(torch.zeros(2, 4), TURNS >= 0, None, None)
    step.term(inputs, view, torch.zeros(2, 4), None, Accelerator(cpu=True))
    return step.finish(number)


def test_the_term_is_lambda_times_the_mean_of_d():
    step = make(0.4)
    step.begin(0)
    inputs = {"turn_ids": TURNS, "is_correct": torch.tensor([True, False])}
    view = TeacherView(torch.zeros(2, 4), TURNS >= 0, None, None)
    term = step.term(inputs, view, torch.zeros(2, 4), None, Accelerator(cpu=True))
    assert term.item() == pytest.approx(0.5 * 0.4)


def test_the_books_of_a_step():
    metrics = one_step(make(0.4), 1)
    assert metrics["tt_opd/kl"] == metrics["tt_opd/kl_correct"] == pytest.approx(0.4)
    # Three turns count over two trajectories.
    assert metrics["tt_opd/turns_counted"] == 1.5 and metrics["tt_opd/eligible_trajectories"] == 2
    assert metrics["tt_opd/kl_turn_1"] == 0.0 and metrics["tt_opd/kl_turn_2"] == 0.0
    assert metrics["tt_opd/lambda"] == 0.5 and metrics["tt_opd/teacher_updates"] == 1


def test_turns_without_weight_are_not_booked_as_stopped_by_divergence(monkeypatch: pytest.MonkeyPatch):
    step = make(0.4)
    monkeypatch.setattr(step.distillation, "weights", "first")
    assert one_step(step, 1)["tt_opd/turns_stopped"] == 0
    monkeypatch.setattr(step.distillation, "weights", "uniform")
    monkeypatch.setattr(step.distillation, "stop_kl", 0.3)
    assert one_step(step, 2)["tt_opd/turns_stopped"] == 1  # the second turn of the first trajectory


def test_a_high_divergence_lowers_lambda_for_good():
    step = make(0.9)
    values = [one_step(step, n)["tt_opd/lambda"] for n in range(1, 6)]
    assert values == [0.5, 0.25, 0.25, 0.25, 0.125]


def test_the_teacher_pauses_while_the_divergence_is_high():
    step = make(0.9, gate=TeacherGate("kl_below", kl_high=0.7))
    updates = [one_step(step, n)["tt_opd/teacher_updates"] for n in range(1, 4)]
    assert updates == [1, 1, 1]  # the first step has nothing to judge by yet
    assert step.gate.shut == 2


def test_a_teacher_that_absorbs_drift_is_frozen_and_lambda_lowered():
    step = make(0.0)
    for number in range(1, 9):
        step.distillation.kl = 0.1 * number
        one_step(step, number)
        with torch.no_grad():
            step.distillation.teacher.model.weight += 0.01
    assert "absorbed_drift" in {finding.name for finding in step.findings}
    assert step.distillation.teacher.ema.is_frozen
    assert step.lambda_now < 0.5


@pytest.mark.parametrize(("kl_high", "is_lowered"), [(0.7, True), (None, False)])
def test_a_stale_teacher_is_reported_and_lowers_lambda_unless_kl_high_is_null(kl_high, is_lowered):
    step = make(0.2)
    step.weight.kl_high = kl_high
    step.distillation.teacher.ema.update_every = 0
    for number in range(1, 6):
        with torch.no_grad():
            step.distillation.teacher.model.weight += 0.2
        one_step(step, number)
    assert {finding.name for finding in step.findings} == {"stale_teacher"}
    assert (step.weight.ceiling < 0.5) == is_lowered
    assert (step.weight.ratchets > 0) == is_lowered


def test_leaking_hints_are_reported_and_change_nothing():
    step = make(0.2)
    step.hint_echo = 0.5
    one_step(step, 1)
    one_step(step, 2)  # still leaking: no second finding
    assert [finding.name for finding in step.findings] == ["leaked_hints"]
    assert step.weight.ceiling == 0.5


def test_both_gradient_norms_are_measured_apart():
    step = make(0.2, grad_norm_every=2)
    weight = step.distillation.teacher.model.weight
    step.begin(0)
    assert step.measures_gradients
    # Two micro-batches whose policy gradients over a 2 x 2 weight are ones / 2 and ones / 2: together ones, norm 2. The
    # distillation's are 3/2 and -1/2: together ones, norm 2, where the first alone would say 3.
    assert step.measured(weight.sum() / 2, 3 * weight.sum() / 2, CPU).item() == pytest.approx(1.5 * weight.sum().item())
    step.measured(weight.sum() / 2, -weight.sum() / 2, CPU)
    metrics = step.finish(1)
    assert metrics["tt_opd/grad_norm_policy"] == pytest.approx(2.0)
    assert metrics["tt_opd/grad_norm_distillation"] == pytest.approx(2.0)
    assert metrics["tt_opd/grad_ratio"] == pytest.approx(1.0)
    step.begin(1)
    assert not step.measures_gradients


def test_a_resumed_step_continues_exactly():
    whole, first = make(0.9), make(0.9)
    for number in range(1, 7):
        last = one_step(whole, number)
    for number in range(1, 4):
        one_step(first, number)
    second = make(0.9)
    second.load_state_dict(first.state_dict())
    for number in range(4, 7):
        again = one_step(second, number)
    assert again == last
    assert second.weight.state_dict() == whole.weight.state_dict()
