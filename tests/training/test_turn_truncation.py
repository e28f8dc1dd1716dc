import pytest
import torch

from healthgym.training.turns import k_max, position_in_turn, trajectory_divergence, turn_table

# One trajectory: turn 0 has 2 tokens (1, 3), a tool result, turn 1 has 3 tokens (4, 6, 8), then padding.
TURNS = torch.tensor([[0, 0, -1, 1, 1, 1, -1]])
D = torch.tensor([[1.0, 3.0, 99.0, 4.0, 6.0, 8.0, 99.0]])


def d_of(**options) -> float:
    options.setdefault("max_turns", 9)
    return trajectory_divergence(D, turn_table(D, TURNS, **options)).item()


def test_d_is_the_mean_over_turns_of_token_means():
    # D_0 = 2, D_1 = 6: (2 + 6) / 2 = 4, not the token mean 4.4; tool output (99) counts nowhere.
    assert d_of() == pytest.approx(4.0)


def test_k_max_drops_later_turns():
    assert d_of(max_turns=1) == pytest.approx(2.0)
    assert d_of(max_turns=0) == 0.0


def test_tokens_per_turn_keeps_the_leading_tokens():
    # First token of each turn: (1 + 4) / 2 = 2.5; first two: (2 + 5) / 2 = 3.5
    assert d_of(tokens_per_turn=1) == pytest.approx(2.5)
    assert d_of(tokens_per_turn=2) == pytest.approx(3.5)


def test_weights_decay_and_first():
    # gamma 0.5: (1 * 2 + 0.5 * 6) / 1.5 = 10 / 3
    assert d_of(weights="decay", gamma=0.5) == pytest.approx(10 / 3)
    assert d_of(weights="first") == pytest.approx(2.0)


def test_stop_kl_keeps_the_turn_that_crosses_and_drops_the_next():
    turns = torch.tensor([[0, 1, 2]])
    d = torch.tensor([[0.1, 2.0, 0.1]])

    def stopped(limit: float) -> float:
        return trajectory_divergence(d, turn_table(d, turns, max_turns=9, stop_kl=limit)).item()

    assert stopped(5.0) == pytest.approx(2.2 / 3)
    assert stopped(1.0) == pytest.approx(2.1 / 2)
    assert stopped(0.05) == pytest.approx(0.1)


def test_only_turns_after_one_past_stop_kl_are_called_stopped():
    turns = torch.tensor([[0, 1, 2, 3]])
    d = torch.tensor([[0.1, 2.0, 0.1, 0.1]])
    # Turn 1 crosses, so turns 2 and 3 are stopped; a horizon of three turns lets turn 3 never in; `first` has no weight for any.
    assert turn_table(d, turns, max_turns=9, stop_kl=1.0).stopped.tolist() == [[False, False, True, True]]
    assert turn_table(d, turns, max_turns=3, stop_kl=1.0).stopped.tolist() == [[False, False, True, False]]
    assert not turn_table(d, turns, max_turns=9, weights="first").stopped.any()
    assert not turn_table(d, turns, max_turns=9, weights="first", stop_kl=1.0).stopped.any()


def test_gradient_reaches_exactly_the_tokens_that_count():
    d = D.clone().requires_grad_()
    trajectory_divergence(d, turn_table(d, TURNS, max_turns=2, tokens_per_turn=2)).sum().backward()
    # Each turn weighs 1/2 and has two counted tokens: 1/4 each.
    torch.testing.assert_close(d.grad, torch.tensor([[0.25, 0.25, 0.0, 0.25, 0.25, 0.0, 0.0]]))


def test_infinite_divergence_outside_the_policys_tokens_does_no_harm():
    d = D.clone()
    d[0, 2] = float("nan")
    assert trajectory_divergence(d, turn_table(d, TURNS, max_turns=9)).item() == pytest.approx(4.0)


def test_padding_changes_nothing():
    wide_turns = torch.cat([TURNS, torch.full((1, 5), -1)], dim=1)
    wide_d = torch.cat([D, torch.randn(1, 5)], dim=1)
    table = turn_table(wide_d, wide_turns, max_turns=9)
    torch.testing.assert_close(trajectory_divergence(wide_d, table), torch.tensor([4.0]))


def test_a_trajectory_without_turns_is_not_eligible_and_weighs_nothing():
    turns = torch.cat([TURNS, torch.full_like(TURNS, -1)])
    table = turn_table(D.expand(2, -1), turns, max_turns=9)
    assert table.eligible.tolist() == [True, False]
    assert trajectory_divergence(D.expand(2, -1), table).tolist() == pytest.approx([4.0, 0.0])
    assert table.present.tolist() == [[True, True], [False, False]]
    torch.testing.assert_close(table.divergence[0], torch.tensor([2.0, 6.0]))


def test_positions_are_numbered_within_each_turn():
    assert position_in_turn(TURNS).tolist() == [[0, 1, -1, 0, 1, 2, -1]]


def test_the_horizon_grows_by_one_turn_every_few_steps_up_to_its_maximum():
    assert [k_max(n, start=2, grow_every=10, maximum=4) for n in (0, 9, 10, 20, 99)] == [2, 2, 3, 4, 4]
    assert k_max(500, start=2, grow_every=0, maximum=4) == 2


def test_unknown_weights_are_refused():
    with pytest.raises(ValueError, match="uniform"):
        turn_table(D, TURNS, max_turns=1, weights="loud")
