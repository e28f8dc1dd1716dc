import pytest
import torch

from healthgym.training.advantages import group_advantages

NAN = float("nan")


def test_advantages_divide_by_the_population_deviation_of_the_group():
    # Rewards 0, 0, 1, 1: mean 0.5, population std 0.5, so -1, -1, 1, 1 (sample std 0.577 would give 0.87).
    result = group_advantages(torch.tensor([0.0, 0.0, 1.0, 1.0]), 4, eps=0.0)
    torch.testing.assert_close(result.advantages, torch.tensor([-1.0, -1.0, 1.0, 1.0]))


def test_a_group_without_spread_is_dead_and_counted():
    result = group_advantages(torch.tensor([0.7, 0.7, 0.0, 1.0]), 2)
    assert (result.dead_groups, result.groups, result.dead_share) == (1, 2, 0.5)
    assert result.advantages[:2].tolist() == [0.0, 0.0]
    assert result.advantages[3] > 0.99


def test_shifting_and_scaling_a_groups_rewards_leaves_advantages_alone():
    rewards = torch.tensor([0.1, 0.4, 0.9, 0.2])
    plain = group_advantages(rewards, 4, eps=0.0).advantages
    torch.testing.assert_close(group_advantages(rewards * 3 - 7, 4, eps=0.0).advantages, plain)


def test_a_degenerate_sample_does_not_move_the_baseline_and_is_never_rewarded():
    # Without it: rewards 0, 1, mean 0.5, std 0.5. The degenerate sample (reward 2) would be +3 and is held at 0;
    # with reward -1 it is (-1 - 0.5) / 0.5 = -3.
    keep = torch.tensor([True, True, False])
    high = group_advantages(torch.tensor([0.0, 1.0, 2.0]), 3, in_baseline=keep, eps=0.0)
    torch.testing.assert_close(high.advantages, torch.tensor([-1.0, 1.0, 0.0]))
    low = group_advantages(torch.tensor([0.0, 1.0, -1.0]), 3, in_baseline=keep, eps=0.0)
    torch.testing.assert_close(low.advantages, torch.tensor([-1.0, 1.0, -3.0]))
    assert low.excluded == 1


def test_an_unscored_sample_teaches_nothing_and_moves_nothing():
    result = group_advantages(torch.tensor([0.0, NAN, 1.0]), 3, eps=0.0)
    torch.testing.assert_close(result.advantages, torch.tensor([-1.0, 0.0, 1.0]))
    assert (result.unscored, result.excluded) == (1, 0)


def test_without_scaling_rewards_are_only_centred():
    result = group_advantages(torch.tensor([0.0, 4.0]), 2, scale=False)
    torch.testing.assert_close(result.advantages, torch.tensor([-2.0, 2.0]))


def test_a_broken_group_is_refused():
    with pytest.raises(ValueError, match="groups of 4"):
        group_advantages(torch.zeros(6), 4)
