"""Samples assistant turns from a transformers model: many episodes at once, their keys and values kept between turns.

Each episode owns a slot of the cache while it lives. A turn first runs whatever the slot has not seen yet (the prompt, or
what the environment wrote) in one pass, then all rows advance by one token together; rows join and leave at any token. A
new episode starts from the longest prefix that any slot already holds: attempts of a group share their prompt, tasks of a
domain its guideline and tools.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from healthgym.errors import ConfigError
from healthgym.rollout.policy import TurnRequest, TurnResult
from healthgym.rollout.sampling import Sampling, draw
from healthgym.rollout.slot_attention import slot_attention_of
from healthgym.rollout.slot_cache import Placement, SlotCache, causal_mask
from healthgym.rollout.slots import Slots

MAX_PASS_TOKENS = 8192
"""Most tokens of one prefill pass, padding included: bounds its memory."""
NEWCOMERS = 8
"""A prefill waits until newcomers are at least one in this many rows: it costs about as much as a token of everybody."""

__all__ = ["Sampling", "TransformersPolicy"]


@dataclass(slots=True)
class _Turn:
    """One turn being written."""

    request: TurnRequest
    prompt: np.ndarray
    limit: int
    uniforms: np.ndarray
    slot: int = -1
    tokens: list[int] = field(default_factory=list)
    logps: list[float] = field(default_factory=list)


class TransformersPolicy:
    """Writes assistant turns with a causal language model in this process.

    Each token is drawn by inverting the distribution at one uniform number of the turn's own seed, so neither the order
    of rows nor their company changes a turn. Weights may change between two `collect` calls, not while episodes are
    open. Modules' modes are put back after every poll, and no gradient is recorded. Sliding windows are respected;
    models with recurrent layers are refused.

    Args:
        model: A transformers model, with LoRA adapters or without, or wrapped for data parallelism.
        tokenizer: Its tokenizer.
        end_ids: Tokens that end a turn; when empty, the EOS tokens of tokenizer and generation config.
        sampling: How tokens are drawn.
        max_rows: Most episodes held in the cache; more wait.
        autocast: Run under autocast of this dtype, as training does; None runs in the weights' own.

    Raises:
        ConfigError: The model or a setting cannot be used; names the remedy.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        end_ids: Sequence[int] = (),
        sampling: Sampling | None = None,
        max_rows: int = 64,
        autocast: torch.dtype | None = None,
    ) -> None:
        self.model, self.tokenizer, self.autocast = model, tokenizer, autocast
        self.sampling, self.max_rows = sampling or Sampling(), max_rows
        self._base = _bare(model)
        self._config = self._base.config.get_text_config()
        _check_supported(self._base, self._config)
        self.end_ids = frozenset(end_ids) or turn_end_ids(self._base, tokenizer)
        self.name = f"transformers:{getattr(self._base.config, 'name_or_path', '') or self._config.model_type}"
        self.context_limit: int | None = getattr(self._config, "max_position_embeddings", None)
        self.sampled_tokens = 0
        """Tokens sampled so far."""
        self.prefilled_tokens = 0
        """Tokens read without sampling so far."""
        self.seconds = 0.0
        """Time spent in poll, for tokens a second."""
        self._waiting: dict[int, _Turn] = {}
        self._writing: dict[int, _Turn] = {}  # by slot
        self._forget_all()

    def submit(self, request: TurnRequest) -> None:
        """Queue one turn.

        Raises:
            ConfigError: The request has no tokens, or fills the model's context.
        """
        if not len(request.prompt_ids):
            raise ConfigError("TransformersPolicy works on tokens: give collect() the model's ChatTemplate")
        limit = request.max_tokens
        if self.context_limit is not None:
            limit = min(limit, self.context_limit - len(request.prompt_ids))
        if limit < 1:
            raise ConfigError(
                f"{request.task_id}: {len(request.prompt_ids)} tokens leave no room for a turn of {request.max_tokens} in "
                f"the model's {self.context_limit} positions. Give collect() max_context, at most the model's limit."
            )
        uniforms = np.random.default_rng(request.seed).random(limit)
        self._waiting[request.key] = _Turn(request, np.asarray(request.prompt_ids, np.int32), limit, uniforms)

    def poll(self) -> list[TurnResult]:
        """Advance until at least one turn is finished and return the finished ones; none when nothing is pending."""
        finished: list[_Turn] = []
        started = time.perf_counter()
        with self._generating():
            while not finished and (self._waiting or self._writing):
                if self._waiting and len(self._waiting) * NEWCOMERS >= len(self._writing) and self._admit(finished):
                    continue
                self._decode(finished)
        self.seconds += time.perf_counter() - started
        return [self._result(turn) for turn in finished]

    def cancel(self, key: int) -> None:
        """Forget an episode and free its slot; once none is open, everything cached is dropped."""
        self._waiting.pop(key, None)
        slot = self._slots.release(key)
        if slot is not None:
            self._writing.pop(slot, None)
        if not self._slots.open:
            self._forget_all()

    def _forget_all(self) -> None:
        self._slots = Slots(self.max_rows)
        self._cache = SlotCache(self._config.num_hidden_layers, self.max_rows)

    @contextmanager
    def _generating(self) -> Iterator[None]:
        """Evaluation mode (which also rests gradient checkpointing) without gradients, put back module by module."""
        training = [module for module in self._base.modules() if module.training]
        for module in training:
            module.training = False
        device = self._base.device.type
        try:
            # no_grad rather than inference_mode: models keep tensors (rotary tables) that training reads later.
            autocast = torch.autocast(device, self.autocast, enabled=self.autocast is not None)
            with torch.no_grad(), autocast, slot_attention_of(self._config):
                yield
        finally:
            for module in training:
                module.training = True

    def _admit(self, finished: list[_Turn]) -> bool:
        """Give waiting turns a slot and read what their slots have not seen; return whether any got one."""
        admitted: list[_Turn] = []
        busy = set(self._writing)
        for key, turn in list(self._waiting.items()):
            slot = self._slots.acquire(key, busy)
            if slot is None:
                break
            turn.slot = slot
            busy.add(slot)
            del self._waiting[key]
            admitted.append(turn)
            self._slots.keep_common(slot, turn.prompt)
        if not admitted:
            return False
        self._cache.reserve(max(busy) + 1, max(len(turn.prompt) + turn.limit for turn in admitted))
        self._slots.reserve(self._cache.capacity)
        while admitted:
            now, admitted = self._slots.first_round([turn.prompt for turn in admitted], admitted)
            for turn in now:
                source, length = self._slots.longest_prefix(turn.prompt)
                if length > self._slots.length[turn.slot]:
                    self._cache.copy(source, turn.slot, length)
                    self._slots.write(turn.slot, 0, turn.prompt[:length])
            for group in _passes(now, self._slots.length):
                self._prefill(group, finished)
        return True

    def _prefill(self, turns: Sequence[_Turn], finished: list[_Turn]) -> None:
        """Read the unseen tokens of some turns, aligned at their ends, and sample the first token of each."""
        starts = [int(self._slots.length[turn.slot]) for turn in turns]
        fresh = [turn.prompt[start:] for turn, start in zip(turns, starts, strict=True)]
        width = max(map(len, fresh))
        ids, positions = np.zeros((len(turns), width), np.int64), np.zeros((len(turns), width), np.int64)
        kept = np.zeros((len(turns), width), bool)
        for row, (start, new) in enumerate(zip(starts, fresh, strict=True)):
            ids[row, width - len(new) :] = new
            positions[row, width - len(new) :] = np.arange(start, start + len(new))
            kept[row, width - len(new) :] = True
        slots = np.array([turn.slot for turn in turns])
        logits = self._forward(ids, positions, slots, int(positions.max()) + 1, kept=kept)
        for turn, start, new in zip(turns, starts, fresh, strict=True):
            self._slots.write(turn.slot, start, new)
            self._writing[turn.slot] = turn
        self.prefilled_tokens += int(kept.sum())
        self._sample(logits, turns, finished)

    def _decode(self, finished: list[_Turn]) -> None:
        """Advance every row that is being written by one token."""
        turns = list(self._writing.values())
        slots = np.fromiter(self._writing, np.int64, len(turns))
        new = np.array([turn.tokens[-1] for turn in turns])
        positions = self._slots.length[slots]
        self._slots.ids[slots, positions] = new
        self._slots.length[slots] = positions + 1
        span, length = int(slots.max()) + 1, int(positions.max()) + 1
        if 2 * len(turns) < span:
            logits = self._forward(new[:, None], positions[:, None], slots, length)
        else:
            # Idle slots in between run along: they write to their next free place, which is overwritten in due course.
            every = np.arange(span)
            all_ids, all_positions = np.zeros((span, 1), np.int64), self._slots.length[:span, None].copy()
            all_ids[slots, 0], all_positions[slots, 0] = new, positions
            logits = self._forward(all_ids, all_positions, every, length, side_by_side=True)
            logits = logits[torch.from_numpy(slots).to(logits.device)]
        self._sample(logits, turns, finished)

    def _forward(
        self, ids: np.ndarray, positions: np.ndarray, slots: np.ndarray, length: int, *,
        kept: np.ndarray | None = None, side_by_side: bool = False,
    ) -> Tensor:  # fmt: skip
        """Run (B, T) tokens at their positions in their slots and return the logits (B, V) of the last column.

        Args:
            ids: (B, T).
            positions: (B, T), 0 for padding.
            slots: (B,).
            length: Positions that attention reads.
            kept: (B, T), false for padding; None when there is none and T is 1.
            side_by_side: The slots are 0 to B - 1.
        """
        device = self._base.device
        place = torch.from_numpy(positions).to(device)
        rows = torch.from_numpy(slots).to(device)
        if kept is None:
            written, at, keep = rows, place[:, 0], None
        else:
            keep = torch.from_numpy(kept).to(device)
            written, at = rows[:, None].expand_as(keep)[keep], place[keep]
        view = slice(0, len(slots)) if side_by_side else rows
        self._cache.place(Placement(view, written, at, keep, length))
        output = type(self._base).forward(  # the class's own: trainers patch the instance's
            self._base,
            input_ids=torch.from_numpy(ids).to(device),
            position_ids=place,
            attention_mask=self._masks(place, length),
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        return output.logits[:, -1]

    def _masks(self, positions: Tensor, length: int) -> Any:
        window = getattr(self._config, "sliding_window", None)
        kinds = set(getattr(self._config, "layer_types", None) or ())
        if "sliding_attention" not in kinds:
            return causal_mask(positions, length, None if kinds else window)
        return {
            "full_attention": causal_mask(positions, length),
            "sliding_attention": causal_mask(positions, length, window),
        }

    def _sample(self, logits: Tensor, turns: Sequence[_Turn], finished: list[_Turn]) -> None:
        uniforms = torch.tensor([turn.uniforms[len(turn.tokens)] for turn in turns], dtype=torch.float64)
        tokens, logps = draw(logits, uniforms.to(logits.device), self.sampling)
        self.sampled_tokens += len(turns)
        for turn, token, logp in zip(turns, tokens.tolist(), logps.tolist(), strict=True):
            turn.tokens.append(token)
            turn.logps.append(logp)
            if token in self.end_ids or len(turn.tokens) >= turn.limit:
                del self._writing[turn.slot]
                finished.append(turn)

    def _result(self, turn: _Turn) -> TurnResult:
        ended = turn.tokens[-1] in self.end_ids
        text = self.tokenizer.decode(turn.tokens[:-1] if ended else turn.tokens, skip_special_tokens=False)
        return TurnResult(turn.request.key, text, turn.tokens, turn.logps, clipped=not ended)


def _passes(turns: Sequence[_Turn], seen: np.ndarray) -> Iterator[list[_Turn]]:
    """Split turns into passes of similar length, each within MAX_PASS_TOKENS."""
    group: list[_Turn] = []
    widths = {id(turn): len(turn.prompt) - int(seen[turn.slot]) for turn in turns}
    for turn in sorted(turns, key=lambda one: widths[id(one)]):
        if group and widths[id(turn)] * (len(group) + 1) > MAX_PASS_TOKENS:
            yield group
            group = []
        group.append(turn)
    if group:
        yield group


def _bare(model: Any) -> Any:
    """Return the transformers model inside data-parallel and adapter wrappers, adapters still in place."""
    if isinstance(model, torch.nn.parallel.DistributedDataParallel):
        model = model.module
    if hasattr(model, "get_base_model"):
        if getattr(model.active_peft_config, "is_prompt_learning", False):
            raise ConfigError("Prompt-learning adapters cannot be sampled from here; use LoRA")
        model = model.get_base_model()
    return model


def _check_supported(model: Any, config: Any) -> None:
    kinds = set(getattr(config, "layer_types", None) or ()) - {"full_attention", "sliding_attention"}
    if kinds:
        raise ConfigError(
            f"{type(model).__name__} has layers of type {', '.join(sorted(kinds))}, whose state cannot be kept by slot. "
            "Take a model with attention layers only, or another engine."
        )
    attention = getattr(config, "_attn_implementation", None) or "sdpa"
    if attention not in ("sdpa", "eager"):
        raise ConfigError(
            f"Sampling needs attention that takes a mask per row, but the model was loaded with {attention!r}. Load it with "
            "model.attention: sdpa (or eager)."
        )


def turn_end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Return the EOS tokens of tokenizer and generation config. Raises ConfigError when there is none."""
    named = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    ids = {tokenizer.eos_token_id, *(named if isinstance(named, list | tuple) else [named])} - {None}
    if not ids:
        raise ConfigError("The tokenizer names no EOS token: set tokenizer.eos_token to the token that ends turns")
    return frozenset(int(i) for i in ids)
