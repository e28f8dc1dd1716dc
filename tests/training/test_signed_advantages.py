import math
from pathlib import Path

import pytest
import torch
from test_episode_trainer import build as build_trainer
from test_episode_trainer import settings, trained, weights

from healthgym.training.signs import signed_advantages
from healthgym.training.turns import token_shares, turn_table

RATIO = torch.tensor([[1.2, 3.0, 0.8, 0.1], [1.2, 3.0, 0.8, 0.1]]).log()
ADVANTAGES = torch.tensor([1.0, -2.0])


def test_the_reward_gives_the_sign_and_the_ratio_the_size_by_hand():
    made = signed_advantages(ADVANTAGES, RATIO, torch.ones(2, 4), share=1.0, clip=0.5)
    # success: factor r within [0.5, 1.5]; failure: factor 1 / r, so what the teacher prefers is blamed less
    expected = torch.tensor([[1.2, 1.5, 0.8, 0.5], [-2 / 1.2, -2 * 0.5, -2 / 0.8, -2 * 1.5]])
    torch.testing.assert_close(made.advantages, expected)
    assert made.clipped.tolist() == [[False, True, False, True]] * 2


def test_a_share_mixes_and_zero_is_the_reward_alone():
    half = signed_advantages(ADVANTAGES, RATIO, torch.ones(2, 4), share=0.5, clip=0.5)
    torch.testing.assert_close(half.advantages[0], torch.tensor([1.1, 1.25, 0.9, 0.75]))
    none = signed_advantages(ADVANTAGES, RATIO, torch.ones(2, 4), share=0.0, clip=0.5)
    torch.testing.assert_close(none.advantages, ADVANTAGES[:, None].expand(2, 4))


def test_the_sign_never_turns_and_a_dead_group_stays_dead():
    log_ratio = torch.randn(2, 50, generator=torch.Generator().manual_seed(0)) * 20
    made = signed_advantages(ADVANTAGES, log_ratio, torch.ones(2, 50), share=1.0, clip=0.99)
    assert (made.advantages.sign() == ADVANTAGES.sign()[:, None]).all()
    dead = signed_advantages(torch.zeros(2), log_ratio, torch.ones(2, 50), share=1.0, clip=0.5)
    assert (dead.advantages == 0).all()


def test_turns_that_do_not_count_keep_the_rewards_advantage():
    turn_ids = torch.tensor([[0, 0, -1, 1, 1, 2]])
    table = turn_table(torch.zeros(1, 6), turn_ids, max_turns=2, tokens_per_turn=1, weights="decay", gamma=0.5)
    shares = token_shares(table, turn_ids)
    assert shares.tolist() == [[1.0, 0.0, 0.0, 0.5, 0.0, 0.0]]
    made = signed_advantages(torch.ones(1), torch.full((1, 6), math.log(1.4)), shares, share=1.0, clip=0.5)
    torch.testing.assert_close(made.advantages, torch.tensor([[1.4, 1.0, 1.0, 1.2, 1.0, 1.0]]))


def build(folder: Path, **changes):
    divergence = {"mode": "rl_sign", "kind": "k3", "ratio_clip": 0.9}
    config = settings(2, **{"divergence": divergence, "lambda": {"start": 1.0, "shape": "constant"}, **changes})
    trainer, log = build_trainer(folder, config)
    trainer.distill.sign_clip = 0.9
    return trainer, log


def test_a_run_under_rl_sign_scales_advantages_says_so_and_differs_from_plain(tmp_path: Path):
    signed, log = trained(build(tmp_path / "a"))
    assert log.rows[-1]["tt_opd/sign_change"] > 1e-4 and log.rows[-1]["tt_opd/kl"] > 0
    assert 0.0 <= log.rows[-1]["tt_opd/sign_clipped"] <= 1.0
    assert "tt_opd/grad_norm_distillation" not in log.rows[-1]
    plain, _ = trained(build_trainer(tmp_path / "b", settings(2), distilled=False))
    assert any((weights(signed)[name] - tensor).abs().max() > 1e-5 for name, tensor in weights(plain).items())


def test_under_rl_sign_a_teacher_without_a_say_is_plain_grpo(tmp_path: Path):
    muted, _ = build(tmp_path / "a", hint=None)
    muted.distill.distillation.turns = muted.distill.distillation.turns.model_copy(update={"weights": "first"})
    muted.distill.weight.start = muted.distill.weight.ceiling = 1e-9
    muted.train()
    plain, _ = trained(build_trainer(tmp_path / "b", settings(2), distilled=False))
    for name, tensor in weights(plain).items():
        torch.testing.assert_close(weights(muted)[name], tensor, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_what_the_teacher_prefers_in_a_success_gains_most(share: float):
    log_ratio = torch.tensor([[0.4, -0.4]])
    made = signed_advantages(torch.ones(1), log_ratio, torch.ones(1, 2), share=share, clip=0.5).advantages[0]
    assert (made[0] > made[1]) == (share > 0)
