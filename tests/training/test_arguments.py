from pathlib import Path

import pytest
import torch
from test_episode_trainer import settings
from transformers import get_scheduler

from healthgym.training.arguments import trl_arguments


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
def test_the_learning_rate_warms_up_under_every_schedule(schedule: str, tmp_path: Path):
    optim = {"schedule": schedule, "warmup_steps": 4, "learning_rate": 0.8}
    arguments = trl_arguments(settings(steps=8, optim=optim), tmp_path)
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=arguments.learning_rate)
    scheduler = get_scheduler(
        arguments.lr_scheduler_type, optimizer, num_warmup_steps=int(arguments.warmup_steps), num_training_steps=8
    )
    rates = []
    for _ in range(5):
        rates.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    # A quarter of 0.8 more at each of the first four steps.
    assert rates == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8])


def test_a_constant_learning_rate_without_warm_up_is_constant_from_the_first_step(tmp_path: Path):
    assert trl_arguments(settings(), tmp_path).lr_scheduler_type == "constant"
