"""Writes answers to messages that hold images, with a vision-language model of transformers, batch by batch."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList

from healthgym.errors import ConfigError
from healthgym.rollout.policy import TurnRequest, TurnResult
from healthgym.rollout.sampling import Sampling, draw

__all__ = ["VisionPolicy"]


class VisionPolicy:
    """Writes single answers with a model that reads images and text, and its processor.

    Each poll writes one batch of waiting requests, all with the same number of images. A token is drawn at a uniform number of
    the request's own seed, so the order of requests changes nothing but rounding. Messages go through the processor's chat
    template; tools are refused.

    Args:
        model: A transformers model for image-text-to-text, in evaluation mode.
        processor: Its processor, with a chat template.
        sampling: How tokens are drawn.
        max_rows: Most requests of one batch.

    Raises:
        ConfigError: The processor has no chat template.
    """

    def __init__(self, model: Any, processor: Any, *, sampling: Sampling | None = None, max_rows: int = 8) -> None:
        if not getattr(processor, "chat_template", None):
            raise ConfigError("The processor has no chat template. Use a model that was tuned to follow instructions")
        self.model, self.processor, self.max_rows = model, processor, max_rows
        self.sampling = sampling or Sampling()
        self.processor.tokenizer.padding_side = "left"
        self.name = f"vision:{getattr(model.config, 'name_or_path', '') or model.config.model_type}"
        self.context_limit: int | None = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self.end_ids = _end_ids(model, processor.tokenizer)
        self._waiting: dict[int, TurnRequest] = {}

    def submit(self, request: TurnRequest) -> None:
        """Queue one answer.

        Raises:
            ConfigError: The request brings tools, or no limit of tokens.
        """
        if request.tools:
            raise ConfigError(
                "VisionPolicy writes single answers without tools; use an endpoint for episodes with images"
            )
        if request.max_tokens < 1:
            raise ConfigError(f"{request.task_id}: max_tokens must be at least 1, got {request.max_tokens}")
        self._waiting[request.key] = request

    def poll(self) -> list[TurnResult]:
        """Write one batch and return its answers; none when nothing is pending."""
        if not self._waiting:
            return []
        images = _count_images(next(iter(self._waiting.values())))
        batch = [one for one in self._waiting.values() if _count_images(one) == images][: self.max_rows]
        for one in batch:
            del self._waiting[one.key]
        return self._write(batch)

    def cancel(self, key: int) -> None:
        """Forget a pending request, if there is one."""
        self._waiting.pop(key, None)

    def _write(self, batch: Sequence[TurnRequest]) -> list[TurnResult]:
        encoded = self.processor.apply_chat_template(
            [_blocks(one.messages) for one in batch], add_generation_prompt=True, tokenize=True, return_dict=True,
            processor_kwargs={"padding": True, "return_tensors": "pt"},
        )  # fmt: skip
        rooms = [self._room(one, int(mask.sum())) for one, mask in zip(batch, encoded["attention_mask"], strict=True)]
        too_long = [
            TurnResult(one.key, "", error=f"the prompt with its images fills the {self.context_limit} positions")
            for one, room in zip(batch, rooms, strict=True)
            if room < 1
        ]
        if too_long:
            rest = [one for one, room in zip(batch, rooms, strict=True) if room >= 1]
            return too_long + (self._write(rest) if rest else [])
        drawn = _Drawn([np.random.default_rng(one.seed).random(max(rooms)) for one in batch], self.sampling)
        settings = GenerationConfig(
            max_new_tokens=max(rooms), do_sample=False, num_beams=1, repetition_penalty=1.0, use_cache=True,
            eos_token_id=sorted(self.end_ids), pad_token_id=_pad_id(self.processor.tokenizer, self.end_ids),
        )  # fmt: skip
        with torch.no_grad():
            written = self.model.generate(
                **encoded.to(self.model.device, dtype=self.model.dtype), generation_config=settings,
                logits_processor=LogitsProcessorList([drawn]),
            )  # fmt: skip
        new = written[:, encoded["input_ids"].shape[1] :].tolist()
        return [self._result(one, ids, room) for one, ids, room in zip(batch, new, rooms, strict=True)]

    def _room(self, request: TurnRequest, prompt_tokens: int) -> int:
        if self.context_limit is None:
            return request.max_tokens
        return min(request.max_tokens, self.context_limit - prompt_tokens)

    def _result(self, request: TurnRequest, ids: Sequence[int], room: int) -> TurnResult:
        kept = list(ids[:room])
        end = next((place for place, token in enumerate(kept) if token in self.end_ids), None)
        if end is not None:
            kept = kept[: end + 1]
        text = self.processor.tokenizer.decode(kept, skip_special_tokens=True)
        return TurnResult(request.key, text.strip(), token_ids=kept, clipped=end is None)


class _Drawn(LogitsProcessor):
    """Leaves of each row's logits, (B, V), only the token drawn at the row's next uniform number."""

    def __init__(self, uniforms: Sequence[np.ndarray], sampling: Sampling) -> None:
        self.uniforms, self.sampling, self.place = np.stack(uniforms), sampling, 0

    def __call__(self, input_ids: Any, scores: Any) -> Tensor:
        uniforms = torch.from_numpy(self.uniforms[:, self.place]).to(scores.device)
        self.place += 1
        tokens, _ = draw(scores, uniforms, self.sampling)
        return torch.full_like(scores, -torch.inf).scatter(1, tokens[:, None], 0.0)


def _blocks(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with every content as blocks, which templates of vision models expect."""
    return [
        {**message, "content": [{"type": "text", "text": content}] if isinstance(content, str) else list(content)}
        for message in messages
        for content in [message.get("content") or ""]
    ]


def _count_images(request: TurnRequest) -> int:
    contents = [message.get("content") for message in request.messages]
    return sum(
        block.get("type") == "image" for content in contents if not isinstance(content, str) for block in content or ()
    )


def _end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Return the tokens that end an answer, by generation config and tokenizer.

    Raises:
        ConfigError: Neither names one.
    """
    named = getattr(model.generation_config, "eos_token_id", None)
    ends = {*(named if isinstance(named, list) else [named]), tokenizer.eos_token_id} - {None}
    if not ends:
        raise ConfigError("Neither generation_config.json nor the tokenizer names an end-of-turn token (eos_token_id)")
    return frozenset(ends)


def _pad_id(tokenizer: Any, end_ids: frozenset[int]) -> int:
    return min(end_ids) if tokenizer.pad_token_id is None else int(tokenizer.pad_token_id)
