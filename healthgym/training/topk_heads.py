"""The top-k divergence over both language-model heads, with the teacher's head applied once and never in the backward pass."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from healthgym.training.divergence import contrast_logps, full_divergence, head_logps, with_tail


def chunked_topk(
    hidden: Tensor,
    weight: Tensor,
    teacher_hidden: Tensor,
    teacher_weight: Tensor,
    *,
    k: int,
    direction: str = "reverse",
    beta: float = 0.5,
    temperature: float = 1.0,
    bias: Tensor | None = None,
    teacher_bias: Tensor | None = None,
    chunk_size: int = 64,
) -> Tensor:
    """Return what `chunked_divergence` returns for `topk_divergence`, for less.

    Of each of the teacher's distributions only the k + 1 values that are compared are kept for the backward pass, which
    recomputes the student's logits alone, `chunk_size` positions at a time.

    Args:
        hidden: (N, H) last hidden states of the student.
        weight: (V, H) head of the student; `bias` (V,) if it has one.
        teacher_hidden: (N, H') of the teacher at the same tokens, or (N, 3, H') for a contrast; carries no gradient.
        teacher_weight: (V, H') head of the teacher; `teacher_bias` (V,) if it has one.
        k: Ids kept, the student's likeliest; below V.
        direction, beta: As in `full_divergence`.
        temperature: Logits are divided by it, as when sampling.
        chunk_size: Positions per chunk.

    Returns:
        (N,) in nats, float32.
    """
    if len(hidden) != len(teacher_hidden):
        raise ValueError(f"Student has {len(hidden)} positions, teacher {len(teacher_hidden)}: they must be the same")

    def read(places: slice) -> Tensor:
        logps = head_logps(teacher_hidden[places], teacher_weight, teacher_bias, temperature)
        return contrast_logps(*logps.unbind(1)) if teacher_hidden.ndim == 3 else logps

    def compare(logps: Tensor, ids: Tensor, kept: Tensor) -> Tensor:
        return full_divergence(with_tail(logps, ids), kept, direction=direction, beta=beta)

    values: Tensor = _TopkHeads.apply(hidden, weight, bias, read, compare, k, temperature, chunk_size)
    return values


def sampled_logps(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, ids: Tensor, *, temperature: float, chunk_size: int
) -> Tensor:
    """Return the log-probability in nats of one id at each of N positions, `chunk_size` positions at a time; no gradient.

    Args:
        hidden: (N, H) the states that predict the ids.
        weight: (V, H) the head; `bias` (V,) if it has one.
        ids: (N,).
        temperature: Logits are divided by it.
        chunk_size: Positions per chunk.
    """
    with torch.no_grad():
        found = [
            head_logps(hidden[places], weight, bias, temperature).gather(1, ids[places, None])[:, 0]
            for places in _chunks(len(hidden), chunk_size)
        ]
    return torch.cat(found) if found else hidden.new_zeros(0, dtype=torch.float32)


def _chunks(count: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, count, size))


class _TopkHeads(torch.autograd.Function):
    """Values (N,) of the divergence; gradients reach the student's hidden states, head and bias."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, read: Any, compare: Any, k: int, temperature: float,
        size: int,
    ) -> Tensor:  # fmt: skip
        device = hidden.device.type
        ctx.autocast = torch.autocast(
            device, enabled=torch.is_autocast_enabled(device), dtype=torch.get_autocast_dtype(device)
        )
        values, ids, kept = [], [], []
        for places in _chunks(len(hidden), size):
            logps = head_logps(hidden[places], weight, bias, temperature)
            ids.append(logps.topk(k, dim=-1).indices)
            kept.append(with_tail(read(places), ids[-1]))
            values.append(compare(logps, ids[-1], kept[-1]))
        if not values:
            return hidden.float().sum(-1)
        ctx.save_for_backward(hidden, weight, bias, torch.cat(ids), torch.cat(kept))
        ctx.compare, ctx.temperature, ctx.size = compare, temperature, size
        return torch.cat(values)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (gradient,) = gradients
        nothing = (None,) * 5
        if not gradient.numel():
            return None, None, None, *nothing
        hidden, weight, bias, ids, kept = ctx.saved_tensors
        wanted = ctx.needs_input_grad[:3]
        sums: list[Tensor | None] = [torch.empty_like(hidden) if wanted[0] else None, None, None]
        for places in _chunks(len(hidden), ctx.size):
            inputs = [hidden[places], weight, bias]
            leaves: list[Any] = [
                None if one is None else one.detach().requires_grad_(want)
                for one, want in zip(inputs, wanted, strict=True)
            ]
            with torch.enable_grad(), ctx.autocast:
                logps = head_logps(leaves[0], leaves[1], leaves[2], ctx.temperature)
                values = ctx.compare(logps, ids[places], kept[places])
            asked = [place for place, want in enumerate(wanted) if want]
            found = torch.autograd.grad(values, [leaves[place] for place in asked], gradient[places])
            for place, one in zip(asked, found, strict=True):
                if place == 0:
                    sums[0][places] = one  # type: ignore[index]
                else:
                    sums[place] = one if sums[place] is None else sums[place] + one
        return *sums, *nothing
