"""The sizes of a dense decoder-only model, and the parameters that follow from them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from healthgym.errors import ConfigError, nearest
from healthgym.training.config import Lora, Model

KNOWN = Path(__file__).parent / "architectures.yaml"
MODEL_TYPES = ("llama", "mistral", "qwen2", "qwen3")
LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """Sizes of a transformer whose layers are attention and a gated feed-forward network."""

    name: str
    model_type: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    tied: bool
    max_positions: int | None = None
    qkv_bias: bool = False
    output_bias: bool = False
    mlp_bias: bool = False

    @property
    def queries(self) -> int:
        """Width of all query heads together."""
        return self.heads * self.head_dim

    @property
    def keys(self) -> int:
        """Width of all key heads together, and of all value heads."""
        return self.kv_heads * self.head_dim

    @property
    def has_qk_norm(self) -> bool:
        """Whether queries and keys are normalised head by head."""
        return self.model_type == "qwen3"

    def linear(self) -> dict[str, tuple[int, int]]:
        """Return (inputs, outputs) of each linear map of a layer."""
        h, q, k, f = self.hidden, self.queries, self.keys, self.ffn
        return dict(zip(LINEAR, ((h, q), (h, k), (h, k), (q, h), (h, f), (h, f), (f, h)), strict=True))

    @property
    def layer_parameters(self) -> int:
        """Parameters of one layer."""
        biases = self.qkv_bias * (self.queries + 2 * self.keys) + self.output_bias * self.hidden
        biases += self.mlp_bias * (2 * self.ffn + self.hidden)
        norms = 2 * self.hidden + 2 * self.head_dim * self.has_qk_norm
        return sum(i * o for i, o in self.linear().values()) + biases + norms

    @property
    def head_parameters(self) -> int:
        """Parameters of the matrix that embeds tokens, and of that which predicts them."""
        return self.vocab * self.hidden

    @property
    def parameters(self) -> int:
        """Parameters of the whole model; a matrix that two modules share counts once."""
        matrices = self.head_parameters * (1 if self.tied else 2)
        return self.layers * self.layer_parameters + matrices + self.hidden

    def lora_parameters(self, lora: Lora) -> int:
        """Parameters of the adapters.

        Raises:
            ConfigError: No linear map of a layer is named by `target_modules`.
        """
        names = LINEAR if lora.target_modules == "all-linear" else _listed(lora.target_modules)
        sizes = [size for name, size in self.linear().items() if name in names]
        if not sizes:
            raise ConfigError(
                f"model.lora.target_modules {lora.target_modules!r} names none of {', '.join(LINEAR)}: give all-linear, or "
                "some of these"
            )
        return self.layers * sum(lora.rank * (i + o) for i, o in sizes)


def architecture_of(settings: Model) -> Architecture:
    """Return the sizes of a run's model: from its folder, from what was downloaded before, or as published.

    Raises:
        ConfigError: The model is not at hand and not among the known ones, or is of a kind whose sizes are not understood.
    """
    if settings.tiny is not None:
        tiny = settings.tiny
        return Architecture(
            name="tiny", model_type="qwen3", layers=tiny.layers, hidden=tiny.hidden_size, heads=tiny.heads,
            kv_heads=tiny.kv_heads, head_dim=tiny.hidden_size // tiny.heads, ffn=tiny.intermediate_size,
            vocab=tiny.vocab_size, tied=True, max_positions=tiny.max_positions,
        )  # fmt: skip
    assert settings.path is not None
    found = _reachable(settings.path)
    if found is not None:
        return from_config(json.loads(found.read_text(encoding="utf-8")), settings.path)
    known = yaml.safe_load(KNOWN.read_text(encoding="utf-8"))
    name = settings.path.rstrip("/").rsplit("/", 1)[-1]
    if name not in known:
        raise ConfigError(
            f"No config.json at model.path {settings.path!r}, and its sizes are not known by name.{nearest(name, known)} Give "
            "a folder that holds the model, or download it first."
        )
    return from_config(known[name], settings.path)


def from_config(config: Mapping[str, Any], name: str) -> Architecture:
    """Return the sizes that a model's config.json states.

    Raises:
        ConfigError: The model is of another kind.
    """
    kind = config.get("model_type")
    if kind not in MODEL_TYPES:
        raise ConfigError(
            f"{name} is of model_type {kind!r}, whose sizes cannot be planned. Planned are: {', '.join(MODEL_TYPES)}."
        )
    heads = config["num_attention_heads"]
    bias = bool(config.get("attention_bias", False))
    return Architecture(
        name=name,
        model_type=kind,
        layers=config["num_hidden_layers"],
        hidden=config["hidden_size"],
        heads=heads,
        kv_heads=config.get("num_key_value_heads") or heads,
        head_dim=config.get("head_dim") or config["hidden_size"] // heads,
        ffn=config["intermediate_size"],
        vocab=config["vocab_size"],
        tied=bool(config.get("tie_word_embeddings", False)),
        max_positions=config.get("max_position_embeddings"),
        qkv_bias=bias or kind == "qwen2",
        output_bias=bias and kind != "qwen2",
        mlp_bias=bool(config.get("mlp_bias", False)),
    )


def _reachable(path: str) -> Path | None:
    """Return the config.json of a folder, or of a hub model that was downloaded before."""
    folder = Path(path) / "config.json"
    if folder.is_file():
        return folder
    try:
        from huggingface_hub import try_to_load_from_cache
        from huggingface_hub.errors import HFValidationError
    except ModuleNotFoundError:
        return None
    try:
        cached = try_to_load_from_cache(path, "config.json")
    except HFValidationError:  # a path that cannot be a hub name
        return None
    return Path(cached) if isinstance(cached, str) else None


def _listed(modules: str | tuple[str, ...]) -> tuple[str, ...]:
    return (modules,) if isinstance(modules, str) else modules
