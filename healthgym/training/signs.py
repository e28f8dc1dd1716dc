"""Advantages whose sign is the reward's and whose size is the teacher's."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class SignedAdvantages:
    """Per-token advantages and what the teacher did to them."""

    advantages: Tensor
    """(B, T)."""
    change: Tensor
    """(B, T) factor on the advantage minus 1; 0 where the teacher does not speak."""
    clipped: Tensor
    """(B, T) bool: the ratio was cut to its bound."""


def signed_advantages(
    advantages: Tensor, log_ratio: Tensor, weights: Tensor, *, share: float, clip: float
) -> SignedAdvantages:
    """Scale each token's advantage by how much more the teacher likes the token than the student does.

    With r = pi_phi(y) / pi_theta(y) and s the sign of the trajectory's advantage A, the factor is
    f = clamp(r^s, 1 - clip, 1 + clip): what the teacher prefers earns more of a success and less of the blame for a failure.
    The token's advantage is A (1 + share w (f - 1)). Since share, w and clip are at most 1 no token's sign ever turns: a
    teacher that errs weighs tokens wrongly, no more, and the teacher's share falls to plain GRPO as lambda falls to 0.

    Args:
        advantages: (B,), centred within each group.
        log_ratio: (B, T) log pi_phi(y) - log pi_theta(y) in nats; carries no gradient.
        weights: (B, T) in [0, 1]; 0 where the turn does not count or the teacher does not score.
        share: lambda(n), in [0, 1].
        clip: Bound on f - 1, in (0, 1).
    """
    ratio = (advantages.sign()[:, None] * log_ratio.detach()).exp()
    factor = ratio.clamp(1 - clip, 1 + clip)
    change = torch.where(weights > 0, share * weights * (factor - 1), torch.zeros_like(factor))
    clipped = (weights > 0) & (factor != ratio)
    return SignedAdvantages(advantages[:, None] * (1 + change), change, clipped)
