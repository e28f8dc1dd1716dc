"""Turn-level truncation: which of the student's tokens the teacher speaks to, and how loudly."""

from dataclasses import dataclass

import torch
from torch import Tensor

WEIGHTS = ("uniform", "decay", "first")


@dataclass(frozen=True)
class TurnTable:
    """Divergence by turn, and the loss weight of every token.

    B trajectories of T completion tokens with at most K turns.
    """

    token_weights: Tensor
    """(B, T), summing to 1 in every row with an eligible turn, 0 elsewhere; carries no gradient."""
    divergence: Tensor
    """(B, K) mean divergence of the leading tokens of each turn, 0 where the turn does not exist; no gradient."""
    present: Tensor
    """(B, K) bool: the trajectory has tokens in this turn."""
    used: Tensor
    """(B, K) bool: the turn counts towards D(tau)."""
    stopped: Tensor
    """(B, K) bool: the turn would count, had none before it exceeded `stop_kl`."""
    turn_weights: Tensor
    """(B, K) w_k of the turns that count, not normalised, 0 elsewhere."""

    @property
    def eligible(self) -> Tensor:
        """(B,) bool: trajectories with at least one turn that counts."""
        return self.used.any(1)


def k_max(step: int, *, start: int, grow_every: int, maximum: int) -> int:
    """Return how many leading turns count at optimiser step `step`.

    Grows by one turn every `grow_every` steps from `start` up to `maximum`; `grow_every` 0 keeps `start`.
    """
    grown = start + step // grow_every if grow_every else start
    return min(grown, maximum)


def position_in_turn(turn_ids: Tensor) -> Tensor:
    """Number the tokens of each turn from 0.

    Args:
        turn_ids: (B, T), the turn of each token the policy wrote, from 0; -1 elsewhere.

    Returns:
        (B, T), -1 where `turn_ids` is -1.
    """
    index = torch.full_like(turn_ids, -1)
    for turn in range(_turns(turn_ids)):
        here = turn_ids == turn
        index = torch.where(here, here.cumsum(1) - 1, index)
    return index


def turn_table(
    divergence: Tensor,
    turn_ids: Tensor,
    *,
    max_turns: int,
    tokens_per_turn: int = 0,
    weights: str = "uniform",
    gamma: float = 1.0,
    stop_kl: float | None = None,
) -> TurnTable:
    """Average divergences by turn, drop the turns past the horizon, and weigh the tokens of the rest.

    With D_k the mean over the first `tokens_per_turn` tokens of turn k, D(tau) = sum_k w_k D_k / sum_k w_k, so a token
    of turn k weighs w_k / (n_k sum_j w_j), n_k being the tokens counted in its turn.

    Args:
        divergence: (B, T) in nats at the student's tokens; read without gradient.
        turn_ids: (B, T), the turn of each policy token, from 0; -1 elsewhere (tool output, padding, dropped tokens).
        max_turns: Turns 0 .. max_turns - 1 may count.
        tokens_per_turn: Leading tokens of a turn that count, 0 for all.
        weights: `uniform` 1, `decay` gamma^k with k from 0, `first` 1 for turn 0 and 0 for the others.
        gamma: Base of `decay`, in (0, 1].
        stop_kl: No turn counts after the first whose D_k exceeds this (the teacher has lost its footing); None is off.
    """
    if weights not in WEIGHTS:
        raise ValueError(f"Unknown turn weights {weights!r}: expected one of {', '.join(WEIGHTS)}")
    count = max(_turns(turn_ids), 1)
    leading = turn_ids >= 0
    if tokens_per_turn:
        leading = leading & (position_in_turn(turn_ids) < tokens_per_turn)
    member = torch.stack([(turn_ids == turn) & leading for turn in range(count)], dim=1)  # (B, K, T)
    tokens = member.sum(2)  # (B, K)
    values = divergence.detach().float().masked_fill(~leading, 0.0)
    means = (member * values[:, None]).sum(2) / tokens.clamp(min=1)

    turn = torch.arange(count, device=turn_ids.device)
    present = tokens > 0
    weight = _weights(turn, weights, gamma).expand_as(means)
    used = present & (turn < max_turns) & (weight > 0)
    stopped = torch.zeros_like(used)
    if stop_kl is not None:
        over = present & (means > stop_kl)
        stopped = used & (over.cumsum(1) - over.int() > 0)  # turns after the first one over
        used = used & ~stopped
    weight = weight * used
    share = weight / weight.sum(1, keepdim=True).clamp(min=torch.finfo(weight.dtype).tiny)
    per_token = (member * (share / tokens.clamp(min=1))[:, :, None]).sum(1)
    return TurnTable(per_token, divergence=means, present=present, used=used, stopped=stopped, turn_weights=weight)


def token_shares(table: TurnTable, turn_ids: Tensor) -> Tensor:
    """Return w_k at each token that counts and 0 elsewhere, (B, T): the weight of a token apart from its turn's length."""
    weights = table.turn_weights.gather(1, turn_ids.clamp(min=0, max=table.turn_weights.size(1) - 1))
    return weights.masked_fill(table.token_weights == 0, 0.0)


def trajectory_divergence(divergence: Tensor, table: TurnTable) -> Tensor:
    """Return D(tau), (B,) in nats: differentiable in `divergence` (B, T), 0 for rows in which no turn counts."""
    weights = table.token_weights.to(divergence.dtype)
    return (divergence.masked_fill(weights == 0, 0.0) * weights).sum(1)


def _turns(turn_ids: Tensor) -> int:
    return int(turn_ids.max()) + 1 if turn_ids.numel() else 0


def _weights(turn: Tensor, weights: str, gamma: float) -> Tensor:
    if weights == "first":
        return (turn == 0).float()
    return torch.full_like(turn, gamma if weights == "decay" else 1.0, dtype=torch.float32) ** turn
