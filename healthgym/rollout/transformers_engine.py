"""Samples assistant turns from a transformers model: many rows at once, each row's keys and values kept between turns."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from healthgym.errors import ConfigError
from healthgym.rollout.policy import TurnRequest, TurnResult

Rows = list[tuple[torch.Tensor, torch.Tensor]]
"""Keys and values by layer, each (heads, tokens, width) of one row or (rows, heads, tokens, width) of a batch."""


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How tokens are drawn. temperature 0 takes the likeliest token."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0

    def __post_init__(self) -> None:
        if self.temperature < 0 or not 0 < self.top_p <= 1 or self.top_k < 0:
            raise ConfigError(
                f"sampling needs temperature >= 0, top_p in (0, 1] and top_k >= 0, got {self.temperature}, "
                f"{self.top_p} and {self.top_k}"
            )


@dataclass(slots=True)
class _Row:
    """One turn being written."""

    request: TurnRequest
    uniforms: np.ndarray
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)


class TransformersPolicy:
    """A policy around a causal language model in this process.

    All waiting turns are written together, one token a step; a row that has ended leaves the batch. What a row has
    read stays cached until its episode ends, so a later turn reads only what is new. Each token is drawn by inverting
    the distribution at one uniform number of the turn's own seed, so neither the order of rows nor their company
    changes a turn.

    Args:
        model: A causal language model, adapters included; used as it is at each poll.
        tokenizer: Its tokenizer.
        end_ids: Tokens that end a turn; the tokenizer's EOS when empty.
        sampling: How tokens are drawn.
        max_rows: Most rows written together.
        keep_cache: Keep keys and values between turns. Switched off for models with sliding or recurrent layers.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        end_ids: Sequence[int] = (),
        sampling: Sampling | None = None,
        max_rows: int = 64,
        keep_cache: bool = True,
    ) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.sampling, self.max_rows = sampling or Sampling(), max_rows
        self.end_ids = tuple(end_ids) or (tokenizer.eos_token_id,)
        self.name = f"transformers:{getattr(model.config, 'name_or_path', '') or model.config.model_type}"
        self.keep_cache = keep_cache and _only_full_attention(model)
        self.sampled_tokens = 0
        self.seconds = 0.0
        """Time spent in poll, for tokens a second."""
        self._waiting: dict[int, TurnRequest] = {}
        self._kept: dict[int, tuple[list[int], Rows]] = {}
        self._version = -1

    def submit(self, request: TurnRequest) -> None:
        """Queue one turn."""
        if not request.prompt_ids:
            raise ConfigError("TransformersPolicy works on tokens: give collect() the model's ChatTemplate")
        self._waiting[request.key] = request

    def cancel(self, key: int) -> None:
        """Forget an episode and what was kept for it."""
        self._waiting.pop(key, None)
        self._kept.pop(key, None)

    def poll(self) -> list[TurnResult]:
        """Write the waiting turns, at most `max_rows`, to their ends."""
        if not self._waiting:
            return []
        started = time.perf_counter()
        # Rows of like length together: less padding.
        waiting = sorted(self._waiting.values(), key=lambda request: len(request.prompt_ids))[: self.max_rows]
        for request in waiting:
            del self._waiting[request.key]
        with _generating(self.model):
            self._forget_stale()
            results = self._write([_Row(request, _uniforms(request)) for request in waiting])
        self.seconds += time.perf_counter() - started
        return results

    def _forget_stale(self) -> None:
        """Drop what was cached under other weights."""
        version = sum(parameter._version for parameter in self.model.parameters())
        if version != self._version:
            self._kept.clear()
            self._version = version

    def _write(self, rows: list[_Row]) -> list[TurnResult]:
        device = next(self.model.parameters()).device
        batch = _Batch(rows, [self._cached(row.request) for row in rows], device)
        results: list[TurnResult] = []
        logits = batch.read(self.model)
        while batch.rows:
            tokens, logprobs = self._draw(logits, batch.rows)
            ended = []
            for place, row in enumerate(batch.rows):
                row.tokens.append(tokens[place])
                row.logprobs.append(logprobs[place])
                if tokens[place] in self.end_ids or len(row.tokens) >= row.request.max_tokens:
                    ended.append(place)
            for place in ended:
                results.append(self._result(batch.rows[place]))
                if self.keep_cache:
                    row = batch.rows[place]
                    ids = [*row.request.prompt_ids, *row.tokens[:-1]]
                    self._kept[row.request.key] = (ids, batch.row_cache(place))
            if ended:
                batch.drop(ended)
                gone = set(ended)
                tokens = [token for place, token in enumerate(tokens) if place not in gone]
            if batch.rows:
                logits = batch.step(self.model, tokens)
        return results

    def _cached(self, request: TurnRequest) -> tuple[int, Rows | None]:
        """Return how many leading tokens are cached, and their keys and values."""
        ids, cache = self._kept.pop(request.key, ([], None))
        if cache is None or len(ids) >= len(request.prompt_ids) or list(request.prompt_ids[: len(ids)]) != ids:
            return 0, None
        return len(ids), cache

    def _draw(self, logits: torch.Tensor, rows: list[_Row]) -> tuple[list[int], list[float]]:
        """Return one token a row and its log-probability in nats under the distribution it was drawn from."""
        logits = logits.float()
        if self.sampling.temperature == 0:
            logps = logits.log_softmax(-1)
            chosen = logits.argmax(-1)
        else:
            logps = _filtered(logits / self.sampling.temperature, self.sampling).log_softmax(-1)
            uniforms = torch.tensor([row.uniforms[len(row.tokens)] for row in rows], device=logits.device)
            sums = logps.double().exp().cumsum(-1)
            chosen = torch.searchsorted(sums, uniforms[:, None] * sums[:, -1:], right=True)[:, 0]
            chosen = chosen.clamp(max=logits.shape[-1] - 1)
        picked = logps.gather(-1, chosen[:, None])[:, 0]
        return chosen.tolist(), picked.tolist()

    def _result(self, row: _Row) -> TurnResult:
        ended = row.tokens[-1] in self.end_ids
        self.sampled_tokens += len(row.tokens)
        text = self.tokenizer.decode(row.tokens[:-1] if ended else row.tokens, skip_special_tokens=False)
        return TurnResult(row.request.key, text, row.tokens, row.logprobs, clipped=not ended)


class _Batch:
    """Rows read and written together; padding lies anywhere and is masked."""

    def __init__(self, rows: list[_Row], cached: list[tuple[int, Rows | None]], device: torch.device) -> None:
        self.rows, self.device = rows, device
        lengths = [length for length, _ in cached]
        self.new = [list(row.request.prompt_ids[length:]) for row, length in zip(rows, lengths, strict=True)]
        past, width = max(lengths), max(map(len, self.new))
        self.mask = torch.zeros(len(rows), past + width, dtype=torch.long, device=device)
        for place, length in enumerate(lengths):
            self.mask[place, past - length : past] = 1
            self.mask[place, past + width - len(self.new[place]) :] = 1
        self.positions = torch.tensor([len(row.request.prompt_ids) for row in rows], device=device)
        self.past, self.width, self.lengths = past, width, lengths
        self.cache = _stacked([cache for _, cache in cached], past) if past else _empty()

    def read(self, model: Any) -> torch.Tensor:
        """Read what is new of every prompt; return the next token's logits, (rows, vocabulary)."""
        ids = torch.zeros(len(self.rows), self.width, dtype=torch.long, device=self.device)
        positions = torch.zeros_like(ids)
        for place, new in enumerate(self.new):
            ids[place, self.width - len(new) :] = torch.tensor(new, device=self.device)
            start = self.lengths[place]
            positions[place, self.width - len(new) :] = torch.arange(start, start + len(new), device=self.device)
        return self._forward(model, ids, positions)

    def step(self, model: Any, tokens: list[int]) -> torch.Tensor:
        """Read one more token a row; return the next token's logits."""
        ids = torch.tensor(tokens, device=self.device)[:, None]
        self.mask = torch.cat([self.mask, self.mask.new_ones(len(tokens), 1)], dim=1)
        logits = self._forward(model, ids, self.positions[:, None])
        self.positions = self.positions + 1
        return logits

    def drop(self, places: list[int]) -> None:
        """Let ended rows leave."""
        gone = set(places)
        stay = [place for place in range(len(self.rows)) if place not in gone]
        self.rows = [self.rows[place] for place in stay]
        if not stay:
            return
        index = torch.tensor(stay, device=self.device)
        self.cache.batch_select_indices(index)
        self.mask, self.positions = self.mask[index], self.positions[index]

    def row_cache(self, place: int) -> Rows:
        """Return a copy of one row's keys and values without padding."""
        valid = self.mask[place].bool()
        return [
            (layer.keys[place][:, valid].clone(), layer.values[place][:, valid].clone()) for layer in self.cache.layers
        ]

    def _forward(self, model: Any, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        output = model(
            input_ids=ids, attention_mask=self.mask, position_ids=positions, past_key_values=self.cache,
            use_cache=True, logits_to_keep=1,
        )  # fmt: skip
        self.cache = output.past_key_values
        return output.logits[:, -1]


def _empty() -> Any:
    from transformers import DynamicCache

    return DynamicCache()


def _stacked(rows: list[Rows | None], past: int) -> Any:
    """Return one cache of all rows, padded on the left to `past` tokens."""
    cache = _empty()
    example = next(row for row in rows if row is not None)
    for layer in range(len(example)):
        keys, values = (_padded(rows, layer, which, past, example[layer][which]) for which in (0, 1))
        cache.update(keys, values, layer)
    return cache


def _padded(rows: list[Rows | None], layer: int, which: int, past: int, like: torch.Tensor) -> torch.Tensor:
    heads, _, width = like.shape
    stacked = like.new_zeros(len(rows), heads, past, width)
    for place, row in enumerate(rows):
        if row is not None:
            kept = row[layer][which]
            stacked[place, :, past - kept.shape[1] :] = kept
    return stacked


def _filtered(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Rule out tokens beyond the top k and the nucleus."""
    if sampling.top_k:
        floor = logits.topk(min(sampling.top_k, logits.shape[-1])).values[..., -1:]
        logits = logits.masked_fill(logits < floor, float("-inf"))
    if sampling.top_p < 1.0:
        ordered, order = logits.sort(descending=True)
        before = ordered.softmax(-1).cumsum(-1) - ordered.softmax(-1)
        out = (before >= sampling.top_p).scatter(-1, order, before >= sampling.top_p)
        logits = logits.masked_fill(out, float("-inf"))
    return logits


def _uniforms(request: TurnRequest) -> np.ndarray:
    if request.max_tokens < 1:
        raise ConfigError(f"a turn of {request.task_id} was asked for with max_tokens {request.max_tokens}")
    return np.random.default_rng(request.seed).random(min(request.max_tokens, 1 << 16))


def _only_full_attention(model: Any) -> bool:
    config = model.config.get_text_config()
    kinds = getattr(config, "layer_types", None) or ()
    return all(kind == "full_attention" for kind in kinds)


@contextmanager
def _generating(model: Any) -> Iterator[None]:
    """Evaluation mode without gradients or checkpointing; everything is put back afterwards."""
    was_training = model.training
    checkpointed = [module for module in model.modules() if getattr(module, "gradient_checkpointing", False)]
    model.eval()
    for module in checkpointed:
        module.gradient_checkpointing = False
    try:
        with torch.no_grad():
            yield
    finally:
        for module in checkpointed:
            module.gradient_checkpointing = True
        model.train(was_training)
