"""A trained model's weights as an engine takes them: checkpoint names, adapters merged, and a fingerprint."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from healthgym.errors import ConfigError

SAMPLED_VALUES = 64
"""Values of each tensor that enter its fingerprint, evenly spread."""


class ModelWeights:
    """Reads the weights of a model that is being trained, at the moment of the call.

    Args:
        model: A transformers model, with LoRA adapters or without, or wrapped for data parallelism.
        dtype: What the engine computes in; weights are handed over in it.
    """

    def __init__(self, model: Any, dtype: torch.dtype) -> None:
        self.model, self.dtype = model, dtype

    @property
    def unwrapped(self) -> Any:
        """The model inside data-parallel wrappers, adapters still in place."""
        model = self.model
        return model.module if isinstance(model, torch.nn.parallel.DistributedDataParallel) else model

    @property
    def base(self) -> Any:
        """The transformers model inside adapter wrappers."""
        model = self.unwrapped
        return model.get_base_model() if self.has_adapter else model

    @property
    def has_adapter(self) -> bool:
        """Whether LoRA adapters are in place."""
        return hasattr(self.unwrapped, "get_base_model")

    @property
    def is_sharded(self) -> bool:
        """Whether each process holds only a part of the weights."""
        return any(hasattr(parameter, "full_tensor") for parameter in self.unwrapped.parameters())

    def fingerprint(self) -> str:
        """Return a digest of all weights as they are now, equal on every process that holds the same ones.

        Covers names, shapes, and a fixed sample of values of each parameter.
        """
        return fingerprint((name, _whole(parameter)) for name, parameter in self.unwrapped.named_parameters())

    @torch.no_grad()
    def named(self) -> Iterator[tuple[str, Tensor]]:
        """Yield every weight under its checkpoint name, adapters merged into copies; shared weights come once."""
        if not self.has_adapter:
            for name, parameter in self.base.named_parameters():
                yield name, self._ready(parameter)
            return
        merged = _merged_modules(self.base)
        for name, parameter in self.base.named_parameters():
            if "lora_" in name or ".original_module." in name:
                continue
            module, _, leaf = name.rpartition(".")
            value = _whole(parameter)
            layer = merged.get(module.removesuffix(".base_layer"))
            if layer is not None and leaf == "weight":
                for adapter in layer.active_adapters:
                    value = value + layer.get_delta_weight(adapter).to(value)
            yield _checkpoint_name(name), self._ready(value)

    @torch.no_grad()
    def frozen(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the weights of the base alone under their checkpoint names, without adapters."""
        for name, parameter in self.base.named_parameters():
            if "lora_" not in name:
                yield _checkpoint_name(name), self._ready(parameter)

    @torch.no_grad()
    def score(self, ids: Sequence[int]) -> np.ndarray:
        """Return the log-probability of each token but the first, in nats, (T - 1,), computed as training does."""
        base, device = self.base, self.base.device
        training = [module for module in base.modules() if module.training]
        for module in training:
            module.training = False
        try:
            with torch.autocast(device.type, self.dtype, enabled=self.dtype != torch.float32):
                tokens = torch.tensor([list(ids)], device=device)
                output = type(base).forward(base, input_ids=tokens, use_cache=False)  # trainers patch the instance's
        finally:
            for module in training:
                module.training = True
        logps = output.logits[0, :-1].float().log_softmax(-1)
        return logps.gather(1, tokens[0, 1:, None])[:, 0].cpu().numpy()

    def save_adapter(self, folder: Path) -> None:
        """Write the adapter alone, in PEFT's format."""
        self.unwrapped.save_pretrained(str(folder))

    def save_config(self, folder: Path) -> None:
        """Write the configuration an engine builds the empty model from."""
        base, config = self.base, self.base.config
        if not config.architectures:
            config.architectures = [type(base).__name__]
        config.save_pretrained(str(folder))

    def _ready(self, tensor: Tensor) -> Tensor:
        return _whole(tensor).detach().to("cpu", self.dtype)


def fingerprint(named: Iterable[tuple[str, Tensor]]) -> str:
    """Return a short digest of named tensors, whatever their order; see `tensor_digest`."""
    return combined(tensor_digest(name, tensor) for name, tensor in named)


def combined(digests: Iterable[str]) -> str:
    """Return one digest of the digests of many tensors, whatever their order."""
    return blake2b("".join(sorted(digests)).encode(), digest_size=8).hexdigest()


def tensor_digest(name: str, tensor: Tensor) -> str:
    """Return a short digest of a tensor's name, shape, and up to SAMPLED_VALUES of its values, evenly spread."""
    flat = tensor.detach().reshape(-1)
    values = flat[:: max(1, flat.numel() // SAMPLED_VALUES)].to("cpu", torch.float32).contiguous()
    digest = blake2b(f"{name}{tuple(tensor.shape)}".encode(), digest_size=8)
    digest.update(values.numpy().tobytes())
    return digest.hexdigest()


def _whole(tensor: Tensor) -> Tensor:
    """Return a parameter with all its values, gathered when it is sharded over processes."""
    if hasattr(tensor, "ds_id"):
        raise ConfigError(
            "vLLM rollouts cannot read weights that DeepSpeed ZeRO-3 has partitioned. Shard with FSDP2, or take "
            "rollout.engine: transformers."
        )
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def _merged_modules(base: Any) -> dict[str, Any]:
    """Return the LoRA layers by the name of the module they wrap."""
    return {name: module for name, module in base.named_modules() if hasattr(module, "get_delta_weight")}


def _checkpoint_name(name: str) -> str:
    return name.replace(".base_layer.", ".").replace(".modules_to_save.default.", ".")
