"""Advantages centred within each group of generations."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class GroupAdvantages:
    """Advantages of one batch and what was left out of them."""

    advantages: Tensor
    """(N,), zero for dead groups and unscored samples."""
    dead_groups: int
    """Groups whose baseline members have no spread in reward: they teach nothing."""
    groups: int
    excluded: int
    """Samples judged against the baseline of the others, because they would distort it."""
    unscored: int
    """Samples without a reward (NaN): an infrastructure failure is never a reward of 0."""

    @property
    def dead_share(self) -> float:
        """Share of groups that teach nothing, in [0, 1]."""
        return self.dead_groups / max(self.groups, 1)


def group_advantages(
    rewards: Tensor,
    num_generations: int,
    *,
    in_baseline: Tensor | None = None,
    scale: bool = True,
    eps: float = 1e-4,
) -> GroupAdvantages:
    """Centre rewards within each group and divide by the group's population standard deviation.

    Samples outside the baseline (degenerate text) do not move the mean or the deviation. They are judged against it,
    and never above it: an advantage above 0 would teach the degeneration. Unscored samples (NaN) get 0.

    Args:
        rewards: (N,), the generations of one task next to each other, NaN where there is no reward.
        num_generations: Size of a group; must divide N.
        in_baseline: (N,) bool, False for samples that must not move the baseline. None takes all.
        scale: Divide by the standard deviation; False centres only.
        eps: Added to the standard deviation.

    Raises:
        ValueError: N is not a multiple of `num_generations`.

    Source: GRPO, arXiv:2402.03300, sec. 4.1.2, with population in place of sample deviation.
    """
    if rewards.ndim != 1 or num_generations < 1 or rewards.numel() % num_generations:
        raise ValueError(f"{tuple(rewards.shape)} rewards cannot be cut into groups of {num_generations}")
    scored = ~rewards.isnan()
    member = scored if in_baseline is None else scored & in_baseline.bool()
    grouped = rewards.double().nan_to_num(0.0).view(-1, num_generations)
    weight = member.view(-1, num_generations).double()
    count = weight.sum(1, keepdim=True).clamp(min=1)
    mean = (grouped * weight).sum(1, keepdim=True) / count
    std = (((grouped - mean).square() * weight).sum(1, keepdim=True) / count).sqrt()
    dead = std <= 1e-8
    advantages = (grouped - mean) / (std + eps if scale else torch.ones_like(std))
    advantages = advantages.masked_fill(dead, 0.0).view(-1)
    outside = scored & ~member
    advantages = torch.where(outside, advantages.clamp(max=0.0), advantages).masked_fill(~scored, 0.0)
    return GroupAdvantages(
        advantages=advantages.to(rewards.dtype),
        dead_groups=int(dead.sum()),
        groups=grouped.shape[0],
        excluded=int(outside.sum()),
        unscored=int((~scored).sum()),
    )
