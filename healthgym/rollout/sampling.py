"""From logits to tokens and their log-probabilities, each row with random numbers of its own."""

from dataclasses import dataclass

import torch
from torch import Tensor

from healthgym.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """The sampling distribution.

    temperature: divides the logits; 0 takes the likeliest token.
    top_p: keep the likeliest tokens that together reach this probability, in (0, 1].
    top_k: keep this many of the likeliest tokens; 0 keeps all.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0

    def __post_init__(self) -> None:
        if self.temperature < 0:
            raise ConfigError(f"temperature must not be negative, got {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"top_p must lie in (0, 1], got {self.top_p}")
        if self.top_k < 0:
            raise ConfigError(f"top_k must not be negative, got {self.top_k}; 0 keeps all tokens")


def draw(logits: Tensor, uniforms: Tensor, sampling: Sampling) -> tuple[Tensor, Tensor]:
    """Return (tokens, logprobs), each (B,), by inverting the cumulative distribution at the rows' uniform numbers.

    Log-probabilities are in nats under the distribution that was sampled from: after temperature, top-k and top-p. At
    temperature 0 they are those of the model itself.

    Args:
        logits: (B, V).
        uniforms: (B,) in [0, 1), float64.
        sampling: The distribution.
    """
    logits = logits.float()
    if sampling.temperature == 0:
        tokens = logits.argmax(-1)
        return tokens, logits.log_softmax(-1).gather(1, tokens[:, None])[:, 0]
    scaled = logits if sampling.temperature == 1.0 else logits / sampling.temperature
    if sampling.top_k or sampling.top_p < 1:
        scaled = _truncated(scaled, sampling)
    logps = scaled.log_softmax(-1)
    total = logps.exp().cumsum(-1, dtype=torch.float64)
    # The last column is 1 but for rounding; scaling by it keeps a uniform number of almost 1 inside the vocabulary.
    tokens = torch.searchsorted(total, (uniforms * total[:, -1])[:, None], right=True)[:, 0]
    tokens = tokens.clamp(max=logits.shape[1] - 1)
    return tokens, logps.gather(1, tokens[:, None])[:, 0]


def _truncated(scaled: Tensor, sampling: Sampling) -> Tensor:
    """Return the logits with all but the kept tokens at minus infinity."""
    ordered, order = scaled.sort(-1, descending=True)
    if sampling.top_k:
        ordered[:, sampling.top_k :] = -torch.inf
    if sampling.top_p < 1:
        probabilities = ordered.softmax(-1)
        before = probabilities.cumsum(-1) - probabilities
        ordered[before >= sampling.top_p] = -torch.inf
    return torch.full_like(scaled, -torch.inf).scatter(1, order, ordered)
