"""How far the student is from the teacher at each token the student wrote, in nats."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import linear
from torch.utils.checkpoint import checkpoint

DIRECTIONS = ("reverse", "forward", "jsd")

Divergence = Callable[[Tensor, Tensor], Tensor]
"""Maps student and teacher log-probabilities (..., V) to divergences (...)."""


def sampled_divergence(
    per_token_logps: Tensor, teacher_per_token_logps: Tensor, *, clip: float | None = None
) -> Tensor:
    """Log ratio of student to teacher at the sampled ids, differentiable as a policy gradient.

    The value is d = log pi_theta(y) - log pi_phi(y). The log ratio's own derivative has mean 0 under the student and
    would teach nothing, so the gradient is that of the score function: d times the gradient of log pi_theta(y), which
    is what a per-token advantage of -d gives. `clip` bounds d on both sides.

    Args:
        per_token_logps: (B, T) in nats, student.
        teacher_per_token_logps: (B, T) in nats, teacher; carries no gradient.
        clip: Largest size of d; None leaves it unbounded.
    """
    log_ratio = (per_token_logps - teacher_per_token_logps).detach()
    if clip is not None:
        log_ratio = log_ratio.clamp(-clip, clip)
    return log_ratio * (per_token_logps - per_token_logps.detach()).exp()


def k3_divergence(per_token_logps: Tensor, teacher_per_token_logps: Tensor, *, clip: float | None = None) -> Tensor:
    """Non-negative estimator r - 1 - log r of the reverse KL at the sampled ids, with r = pi_phi(y) / pi_theta(y).

    As a loss it descends the forward KL: its gradient is (1 - r) times the gradient of log pi_theta(y), whose mean
    under the student is the gradient of KL(teacher || student).

    Source: Schulman, "Approximating KL Divergence", 2020 (estimator k3).
    """
    log_ratio = teacher_per_token_logps - per_token_logps
    return bound(log_ratio.exp() - 1 - log_ratio, clip)


def full_divergence(logps: Tensor, teacher_logps: Tensor, *, direction: str = "reverse", beta: float = 0.5) -> Tensor:
    """Exact divergence between two distributions over the vocabulary.

    Args:
        logps: (..., V) student log-probabilities in nats; -inf allowed.
        teacher_logps: (..., V) teacher log-probabilities in nats.
        direction: `reverse` KL(student || teacher), `forward` KL(teacher || student), or `jsd`: the generalised
            Jensen-Shannon divergence beta KL(teacher || m) + (1 - beta) KL(student || m), m = beta teacher + (1 - beta) student.
        beta: Teacher's share of the mixture for `jsd`, strictly between 0 and 1.

    Returns:
        (...), never negative but for rounding.

    Source: generalised JSD as in GKD, arXiv:2306.13649, eq. 1.
    """
    if direction == "reverse":
        return _kl(logps, teacher_logps)
    if direction == "forward":
        return _kl(teacher_logps, logps)
    if direction == "jsd":
        if not 0.0 < beta < 1.0:
            raise ValueError(f"jsd needs beta strictly between 0 and 1, got {beta}")
        share = logps.new_tensor(beta)
        mixture = torch.logaddexp(teacher_logps + share.log(), logps + (1 - share).log())
        return beta * _kl(teacher_logps, mixture) + (1 - beta) * _kl(logps, mixture)
    raise ValueError(f"Unknown direction {direction!r}: expected one of {', '.join(DIRECTIONS)}")


def topk_divergence(
    logps: Tensor, teacher_logps: Tensor, *, k: int, direction: str = "reverse", beta: float = 0.5
) -> Tensor:
    """Divergence over the student's `k` likeliest ids and one bucket holding everything else, on both sides.

    Merging ids into a bucket can only lose information, so this never exceeds the full divergence, and equals it when
    k = V. Which ids are kept carries no gradient.
    """
    vocabulary = logps.shape[-1]
    if k >= vocabulary:
        return full_divergence(logps, teacher_logps, direction=direction, beta=beta)
    ids = logps.detach().topk(k, dim=-1).indices
    return full_divergence(with_tail(logps, ids), with_tail(teacher_logps, ids), direction=direction, beta=beta)


def chunked_divergence(
    hidden: Tensor,
    weight: Tensor,
    teacher_hidden: Tensor,
    teacher_weight: Tensor,
    *,
    divergence: Divergence,
    temperature: float = 1.0,
    bias: Tensor | None = None,
    teacher_bias: Tensor | None = None,
    chunk_size: int = 64,
) -> Tensor:
    """Apply both language-model heads and a divergence, `chunk_size` positions at a time.

    Only one chunk's (chunk_size, V) logits of each side exist at once: the backward pass recomputes them.

    Args:
        hidden: (N, H) last hidden states of the student at the positions that predict its own tokens.
        weight: (V, H) head of the student; `bias` (V,) if it has one.
        teacher_hidden: (N, H') hidden states of the teacher at the same tokens, or (N, 3, H') after the right, a wrong and no
            hint, which make one teacher by `contrast_logps`; carries no gradient.
        teacher_weight: (V, H') head of the teacher.
        divergence: Maps two (n, V) log-probability tensors to (n,).
        temperature: Logits are divided by it, as when sampling.
        chunk_size: Positions per chunk.

    Returns:
        (N,) in nats, float32.
    """
    if len(hidden) != len(teacher_hidden):
        raise ValueError(f"Student has {len(hidden)} positions, teacher {len(teacher_hidden)}: they must be the same")

    def one_chunk(student: Tensor, teacher: Tensor) -> Tensor:
        logps = head_logps(student, weight, bias, temperature)
        with torch.no_grad():
            teacher_logps = head_logps(teacher, teacher_weight, teacher_bias, temperature)
            if teacher.ndim == 3:
                teacher_logps = contrast_logps(*teacher_logps.unbind(1))
        return divergence(logps, teacher_logps)

    chunks = [
        checkpoint(one_chunk, student, teacher, use_reentrant=False)
        for student, teacher in zip(hidden.split(chunk_size), teacher_hidden.split(chunk_size), strict=True)
    ]
    return torch.cat(chunks) if chunks else hidden.float().sum(-1)


def head_logps(hidden: Tensor, weight: Tensor, bias: Tensor | None, temperature: float) -> Tensor:
    """Return the log-probabilities (..., V) in float32 that a head makes of hidden states (..., H)."""
    return (linear(hidden, weight, bias).float() / temperature).log_softmax(-1)


def contrast_logps(right: Tensor, wrong: Tensor, plain: Tensor) -> Tensor:
    """Return log of plain * right / wrong, renormalised: a teacher moved by what only the right hint says.

    Args:
        right: (..., V) log-probabilities in nats after the right hint.
        wrong: (..., V) after a wrong hint.
        plain: (..., V) without a hint.
    """
    return (plain + right - wrong).log_softmax(-1)


def vocabulary_divergence(kind: str, *, k: int = 64, direction: str = "reverse", beta: float = 0.5) -> Divergence:
    """Return the divergence over the vocabulary named by `kind`, `topk` or `full`."""
    if kind == "topk":
        return partial(topk_divergence, k=k, direction=direction, beta=beta)
    if kind == "full":
        return partial(full_divergence, direction=direction, beta=beta)
    raise ValueError(f"Unknown divergence over the vocabulary {kind!r}: expected topk or full")


def bound(divergence: Tensor, clip: float | None) -> Tensor:
    """Clamp a non-negative divergence to [0, clip]; a clamped token has no gradient."""
    return divergence if clip is None else divergence.clamp(0.0, clip)


def _kl(logps: Tensor, other_logps: Tensor) -> Tensor:
    """KL(p || q) over the last axis; a term with p = 0 is 0."""
    probabilities = logps.exp()
    terms = probabilities * (logps - other_logps)
    return terms.masked_fill(probabilities == 0, 0.0).sum(-1)


def with_tail(logps: Tensor, ids: Tensor) -> Tensor:
    """Keep the log-probabilities at `ids` (..., k) and append the log of what is left, giving (..., k + 1)."""
    kept = logps.gather(-1, ids)
    rest = logps.scatter(-1, ids, float("-inf"))
    floor = torch.finfo(logps.dtype).min / 4  # a tail of no mass stays finite, so that its gradient is 0 and not NaN
    return torch.cat([kept, rest.logsumexp(-1, keepdim=True).clamp(min=floor)], dim=-1)
