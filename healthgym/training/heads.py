"""The language-model head whose logits the divergences over the vocabulary compute themselves, a chunk at a time."""

from inspect import signature
from typing import Any

from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from healthgym.errors import ConfigError
from healthgym.training.shards import whole

_LOGIT_TRANSFORMS = (
    "final_logit_softcapping",
    "logit_scale",
    "logits_scaling",
    "output_multiplier",
    "lm_head_multiplier",
)


def check_plain_head(model: nn.Module) -> None:
    """Refuse models that transform their logits after the head, which the divergences over the vocabulary do not do.

    Raises:
        ConfigError: The model caps or scales its logits.
    """
    config = _base(model).config.get_text_config()
    for name in _LOGIT_TRANSFORMS:
        if getattr(config, name, None) not in (None, 1.0):
            raise ConfigError(
                f"divergence.kind topk and full apply the bare language-model head, but this model has {name} "
                f"{getattr(config, name)}. Use divergence.kind: k3 or sampled."
            )


def _base(model: nn.Module) -> Any:
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def backbone(model: nn.Module) -> nn.Module:
    """Return the part of a model whose hidden states the head reads."""
    return _base(model).base_model


def _head(model: nn.Module) -> Any:
    return _base(model).get_output_embeddings()


def run_to_hidden(model: nn.Module, input_ids: Tensor, attention_mask: Tensor) -> None:
    """Run a model for its hidden states alone: where its forward pass allows, the head sees only the last position."""
    options = {"logits_to_keep": 1} if "logits_to_keep" in signature(_base(model).forward).parameters else {}
    model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False, **options)


def teacher_head(model: nn.Module, *, copied: bool) -> tuple[Tensor, Tensor | None]:
    """Return weight and bias of the head as it stands; copied when FSDP is about to drop what it gathered."""
    layer = _head(model)
    weight, bias = whole(layer.weight), None if layer.bias is None else whole(layer.bias)
    return (weight.clone(), None if bias is None else bias.clone()) if copied else (weight, bias)


def student_head(model: nn.Module) -> tuple[Tensor, Tensor | None]:
    """Return weight and bias of the head, as leaves that gradients reach.

    Under FSDP the head stays gathered between the passes. Where it does not, a frozen one is gathered here.

    Raises:
        ConfigError: A trainable head lies in pieces, so that gradients would miss it.
    """
    layer = _head(model)
    if not isinstance(layer.weight, DTensor):
        return layer.weight, layer.bias
    if layer.weight.requires_grad:
        raise ConfigError(
            "FSDP has taken the language-model head apart before the divergence could use it. Use accelerate 1.15 or "
            "later, which keeps it gathered, or divergence.kind: k3."
        )
    return whole(layer.weight), None if layer.bias is None else whole(layer.bias)
