"""The model to train: where it comes from, its adapters, its arithmetic."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from healthgym.training.sections.base import Count, Positive, Section, Share


class TinyModel(Section):
    """A small Qwen3-architecture model built from scratch, with a tokenizer trained on the run's own tasks."""

    layers: Count = 2
    hidden_size: Count = 128
    intermediate_size: Count = 384
    heads: Count = 4
    kv_heads: Count = 2
    vocab_size: Annotated[int, Field(ge=300)] = 2048
    max_positions: Count = 4096


class Lora(Section):
    """Low-rank adapters on a frozen base."""

    rank: Count = 16
    alpha: Positive = 32.0
    dropout: Share = 0.0
    target_modules: str | tuple[str, ...] = "all-linear"


class Model(Section):
    """The model to train: a folder or hub name, or a tiny one from scratch."""

    path: str | None = None
    tiny: TinyModel | None = None
    lora: Lora | None = None
    dtype: Literal["float32", "bfloat16"] = "float32"
    attention: Literal["sdpa", "eager", "flash_attention_2"] = "sdpa"

    @model_validator(mode="after")
    def _one_source(self) -> "Model":
        if (self.path is None) == (self.tiny is None):
            raise ValueError("give exactly one of model.path and model.tiny")
        return self
