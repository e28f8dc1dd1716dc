"""Loads the model and tokenizer a run asks for."""

import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError
from healthgym.rollout.template_probe import probe_template
from healthgym.training.adapters import apply_lora, load_adapters
from healthgym.training.config import Model
from healthgym.training.model_folder import check_model_folder
from healthgym.training.tiny_model import build_tiny_model, train_tokenizer

logger = logging.getLogger(__name__)


def load_model(settings: Model, texts: Callable[[], Iterable[str]], *, seed: int) -> tuple[Any, Any]:
    """Return (model, tokenizer), LoRA applied when asked for.

    Args:
        settings: The run's model section.
        texts: Gives the texts a tiny model's tokenizer is trained on; not called for a pretrained model.
        seed: Seeds a tiny model's weights and the adapters.

    Raises:
        ConfigError: The path holds no model, or its tokenizer has no chat template or end-of-turn token.
    """
    if settings.tiny is not None:
        tokenizer = train_tokenizer(texts(), settings.tiny.vocab_size)
        adopt_template(tokenizer)
        model = build_tiny_model(settings.tiny, tokenizer, seed=seed)
    else:
        assert settings.path is not None
        model, tokenizer = _pretrained(settings.path, settings)
    if settings.lora is not None:
        model = apply_lora(model, settings.lora, seed=seed)
    return model, tokenizer


def load_saved(folder: Path, settings: Model) -> tuple[Any, Any]:
    """Return (model, tokenizer) as `save_model` left them, adapters trainable.

    Raises:
        ConfigError: As `load_model`.
    """
    if not (folder / "adapter_config.json").is_file():
        return _pretrained(str(folder), settings)
    path = str(settings.path) if settings.path else str(folder / "base")
    base, tokenizer = _pretrained(path, settings)
    return load_adapters(base, folder, path), tokenizer


def save_model(
    model: Any, tokenizer: Any, folder: Path, settings: Model, weights: Mapping[str, Any] | None = None
) -> None:
    """Write model and tokenizer so that `load_saved` finds them; the base too when it exists nowhere else.

    Args:
        model: The model.
        tokenizer: Its tokenizer.
        folder: Where to write.
        settings: The run's model section.
        weights: The model's state where it lies in pieces; None takes it from the model.
    """
    model.save_pretrained(str(folder), state_dict=weights)
    tokenizer.save_pretrained(str(folder))
    if settings.lora is not None and settings.tiny is not None:
        base = folder / "base"
        with model.disable_adapter():
            model.get_base_model().save_pretrained(str(base), state_dict=_base_weights(model, weights))
        tokenizer.save_pretrained(str(base))


def adopt_template(tokenizer: Any) -> None:
    """Make the template that rollouts use the tokenizer's own, so that hints and saved models render alike.

    Adapters are loaded over the base model and its tokenizer, whose template is still the one that needs repair.

    Raises:
        ConfigError: The template cannot serve multi-turn episodes.
    """
    report = probe_template(tokenizer)
    tokenizer.chat_template = report.template
    for note in report.notes:
        logger.info(note)


def context_limit(model: Any) -> int | None:
    """Return the positions the model was built for, or None when its config does not say."""
    return getattr(model.config.get_text_config(), "max_position_embeddings", None)


def _pretrained(path: str, settings: Model) -> tuple[Any, Any]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    # Full fine-tuning keeps float32 weights and computes in bfloat16; a frozen base may be stored in bfloat16.
    half = settings.dtype == "bfloat16" and settings.lora is not None
    check_model_folder(path)
    try:
        tokenizer = AutoTokenizer.from_pretrained(path, padding_side="left")
        model, info = AutoModelForCausalLM.from_pretrained(
            path,
            dtype=torch.bfloat16 if half else torch.float32,
            attn_implementation=settings.attention,
            output_loading_info=True,
        )
    except (OSError, ValueError, RuntimeError, KeyError, ImportError) as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise ConfigError(f"model.path {path!r} holds no model that transformers can load: {reason}") from error
    if info["missing_keys"]:
        missing = sorted(info["missing_keys"])
        raise ConfigError(
            f"model.path {path!r}: {len(missing)} of the model's weights are not in its files ({missing[0]}, ...), so they "
            "would begin at random. Take a model saved for text generation, or save it again."
        )
    rows = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > rows:
        raise ConfigError(
            f"model.path {path!r}: the tokenizer has {len(tokenizer)} tokens and the model {rows} embeddings, so they do "
            "not belong together. Take the tokenizer the model was trained with, or resize_token_embeddings and save."
        )
    if not tokenizer.chat_template:
        raise ConfigError(f"model.path {path!r} has no chat template: take an instruction-tuned model")
    if tokenizer.eos_token_id is None:
        raise ConfigError(f"model.path {path!r}: its tokenizer names no end-of-turn token (eos_token)")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    adopt_template(tokenizer)
    return model, tokenizer


def _base_weights(model: Any, weights: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the frozen base's weights under the names they have without adapters."""
    state = model.state_dict() if weights is None else weights
    prefix = "base_model.model."
    return {
        name.removeprefix(prefix).replace(".base_layer", ""): tensor
        for name, tensor in state.items()
        if name.startswith(prefix) and "lora_" not in name
    }
