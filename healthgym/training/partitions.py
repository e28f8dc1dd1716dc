"""Parameters that DeepSpeed ZeRO-3 holds in flat pieces, one a process: the piece, the whole, and back.

DeepSpeed leaves such a parameter empty outside its own passes. Its piece is `ds_tensor`: the flattened whole is cut into runs of
equal length, and what the last of them lack is padding. These functions reckon without the padding.
"""

from typing import Any

import torch
from torch import Tensor, distributed


def is_partitioned(tensor: Tensor) -> bool:
    """Whether DeepSpeed holds this parameter in pieces."""
    return hasattr(tensor, "ds_id")


def partition(parameter: Any) -> Tensor:
    """Return this process's piece, flat, sharing its memory."""
    own: Tensor = parameter.ds_tensor.detach()
    return own.narrow(0, 0, _run(parameter)[1])


def master_partition(parameter: Any) -> Tensor:
    """Return this process's piece as the optimiser keeps it, flat, in float32; under bfloat16 it is what really moves."""
    from deepspeed.utils import safe_get_local_fp32_param

    if not hasattr(parameter, "_z3_optimizer"):
        return partition(parameter)
    kept: Tensor = safe_get_local_fp32_param(parameter)
    return kept.detach().narrow(0, 0, _run(parameter)[1])


def cut_partition(full: Tensor, like: Any) -> Tensor:
    """Return a copy of this process's piece of a tensor that every process holds whole, cut as `like` is."""
    start, length = _run(like)
    return full.detach().flatten().narrow(0, min(start, full.numel()), length).clone()


def join_partitions(part: Tensor, like: Any) -> Tensor:
    """Return the whole of which every process holds one flat `part`, cut as `like` is; all must call this."""
    size = like.ds_tensor.numel()
    own = torch.zeros(size, dtype=part.dtype, device=like.device)
    own[: part.numel()] = part.detach()
    gathered = own.new_empty(size * distributed.get_world_size())
    distributed.all_gather_into_tensor(gathered, own)
    return gathered[: like.ds_numel].view(like.ds_shape)


def partition_start(parameter: Any) -> int:
    """Return where this process's piece begins in the flattened whole."""
    return _run(parameter)[0]


def _run(parameter: Any) -> tuple[int, int]:
    """Return start and length of this process's piece, without padding."""
    size = parameter.ds_tensor.numel()
    start = size * distributed.get_rank()
    return start, max(0, min(size, parameter.ds_numel - start))
