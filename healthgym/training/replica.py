"""A whole copy of a sharded model to sample from."""

import copy
from typing import Any

import torch
from torch import nn

from healthgym.training.config import RunConfig
from healthgym.training.processes import sharding
from healthgym.training.shards import whole_parameters, whole_shape
from healthgym.training.warm_start import restore_forward


class Replica:
    """Holds every weight on each process, for engines that read a model's modules directly, and follows the model.

    Costs one copy of the weights a device, in the dtype that training computes in. Where that is too much, sample from
    another engine.

    Args:
        model: The model; FSDP has not sharded it yet, DeepSpeed may have.
        device: Where the copy lies.
        dtype: Of its weights.
    """

    def __init__(self, model: nn.Module, *, device: torch.device, dtype: torch.dtype) -> None:
        self._source = model
        # Parameters are allocated anew and filled by `refresh`; the rest of the model is copied around them.
        empty = {
            id(p): nn.Parameter(torch.empty(whole_shape(p), device=device, dtype=dtype), False)
            for p in model.parameters()
        }
        self.model: Any = copy.deepcopy(model, empty)
        restore_forward(self.model)  # a trainer's patch would be copied with the original's modules in its closure
        for module in self.model.modules():
            for name, buffer in module.named_buffers(recurse=False):
                setattr(module, name, buffer.to(device))

    @torch.no_grad()
    def refresh(self) -> Any:
        """Take over the model's present weights and return the copy; every process must call this."""
        own = dict(self.model.named_parameters())
        for name, weight in whole_parameters(self._source):
            own[name].copy_(weight)
        return self.model


def make_replica(config: RunConfig, model: nn.Module, device: torch.device) -> Replica | None:
    """Return the copy that a sharded run samples from, or None where the engine reads the model itself or has its own."""
    if sharding() == "none" or config.rollout.engine != "transformers":
        return None
    dtype = torch.bfloat16 if config.model.dtype == "bfloat16" else torch.float32
    return Replica(model, device=device, dtype=dtype)
