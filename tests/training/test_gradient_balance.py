from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from test_distill_step import TURNS, make
from test_episode_trainer import build, settings
from torch import nn

from healthgym.training.distillation import TeacherView
from healthgym.training.gradients import GradientBalance, GradientMeter

CPU = Accelerator(cpu=True)


def test_the_fair_weight_by_hand_stays_under_the_ceiling():
    balance = GradientBalance(0.5, smoothing=0.0)
    assert balance.weight(4.0) == 4.0  # nothing measured yet
    balance.observe(policy=2.0, distillation=10.0)  # 0.5 * 2 / 10
    assert balance.weight(4.0) == pytest.approx(0.1)
    assert balance.weight(0.05) == 0.05
    balance.observe(policy=0.0, distillation=10.0)  # a step of dead groups says nothing
    assert balance.weight(4.0) == pytest.approx(0.1)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_step_that_is_no_number_does_not_unbalance_the_rest_of_the_run(bad: float):
    balance = GradientBalance(0.5, smoothing=0.0)
    for norms in ({"policy": bad, "distillation": 10.0}, {"policy": 2.0, "distillation": bad}):
        balance.observe(**norms)
    assert not balance.is_set
    balance.observe(policy=2.0, distillation=10.0)  # 0.5 * 2 / 10
    assert balance.weight(4.0) == pytest.approx(0.1)


def test_the_fair_weight_is_smoothed_in_its_logarithm():
    balance = GradientBalance(1.0, smoothing=0.5)
    balance.observe(policy=1.0, distillation=1.0)
    balance.observe(policy=1.0, distillation=100.0)  # one loud step: 0.1, not 0.01
    assert balance.weight(4.0) == pytest.approx(0.1)
    again = GradientBalance(1.0)
    again.load_state_dict(balance.state_dict())
    assert again.weight(4.0) == balance.weight(4.0)


def test_the_meter_adds_micro_batches_before_it_takes_the_norm():
    weight = nn.Parameter(torch.zeros(2))
    meter = GradientMeter([weight])
    for pull in ([3.0, 0.0], [0.0, 4.0]):
        meter.add("policy", (weight * torch.tensor(pull)).sum())
    meter.add("distillation", torch.tensor(1.0))  # no gradient at all
    assert meter.norms(CPU) == {"policy": 5.0, "distillation": 0.0}
    assert GradientMeter([weight]).norms(CPU) == {}


def test_processes_of_which_one_lacks_a_gradient_reduce_it_in_one_type():
    types = []

    class Both:
        def reduce(self, tensor, reduction):
            types.append(tensor.dtype)
            return tensor

    used, unused = (nn.Parameter(torch.ones(2, dtype=torch.bfloat16)) for _ in range(2))
    meter = GradientMeter([used, unused])
    meter.add("policy", (3 * used).sum())
    assert meter.norms(Both())["policy"] == pytest.approx(18**0.5)  # (3, 3) and nothing
    assert types == [torch.float32, torch.float32]


def test_a_ratchet_under_balance_lowers_the_weight_in_force():
    step = make(0.9, balance=GradientBalance(0.5, smoothing=0.0), grad_norm_every=1)
    step.begin(0)
    view = TeacherView(torch.zeros(2, 4), TURNS >= 0, None, None)
    weight = step.distillation.teacher.model.weight
    inputs = {"turn_ids": TURNS, "is_correct": torch.tensor([True, False])}
    step.term(inputs, view, torch.zeros(2, 4), None, CPU)
    # At lambda 0.5 both gradients have norm 2, so the distillation's at weight 1 is 4: fair is 0.5 * 2 / 4.
    term = step.measured(weight.sum(), weight.sum(), CPU)
    assert step.lambda_now == pytest.approx(0.25) and term.item() == pytest.approx(0.5 * weight.sum().item())
    metrics = step.finish(1)
    assert metrics["tt_opd/grad_ratio"] == pytest.approx(0.5) and metrics["tt_opd/lambda"] == 0.25
    assert step.weight.ceiling == pytest.approx(0.125)  # half of the 0.25 in force, not of the 0.5 that was the ceiling


@pytest.mark.parametrize(("lora", "micro_batch"), [(False, 8), (True, 2)], ids=["whole", "adapters, micro-batches"])
def test_the_measured_ratio_approaches_the_target_and_the_ceiling_never_rises(
    tmp_path: Path, lora: bool, micro_batch: int
):
    config = settings(
        6, optim={"micro_batch": micro_batch, "learning_rate": 1e-3}, divergence={"kind": "k3"},
        **{"lambda": {"start": 50.0, "shape": "linear", "balance": "grad_norm", "ratio": 0.3}},
    )  # fmt: skip
    trainer, log = build(tmp_path, config, lora=lora)
    trainer.distill.balance = GradientBalance(config.lambda_.ratio)
    trainer.train()
    ratios = [row["tt_opd/grad_ratio"] for row in log.rows if "tt_opd/grad_ratio" in row]
    ceilings = [row["tt_opd/lambda_ceiling"] for row in log.rows]
    assert len(ratios) >= 4
    assert 0.1 < sum(ratios[1:]) / len(ratios[1:]) < 0.9  # unbalanced it is above 5: lambda starts at 50
    assert ceilings == sorted(ceilings, reverse=True)
    assert all(row["tt_opd/lambda"] <= row["tt_opd/lambda_ceiling"] for row in log.rows)
    assert log.rows[1]["tt_opd/lambda"] < 25.0
