"""Parameters that a launch has cut into one piece a process: the piece, the whole, and back."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor

from healthgym.training.partitions import (
    cut_partition,
    is_partitioned,
    join_partitions,
    master_partition,
    partition,
    partition_start,
)


def is_sharded(model: nn.Module) -> bool:
    """Whether any parameter lies in pieces on several processes."""
    return any(isinstance(parameter, DTensor) or is_partitioned(parameter) for parameter in model.parameters())


def piece(tensor: Tensor) -> Tensor:
    """Return this process's piece of a sharded tensor, sharing its memory; an ordinary tensor is its own piece.

    FSDP cuts along the first axis, DeepSpeed the flattened tensor.
    """
    if is_partitioned(tensor):
        return partition(tensor)
    return tensor.detach().to_local() if isinstance(tensor, DTensor) else tensor.detach()


def whole(tensor: Tensor) -> Tensor:
    """Return a sharded tensor gathered on every process; all must call this. An ordinary tensor is returned as it is."""
    if is_partitioned(tensor):
        return join_partitions(partition(tensor), tensor)
    return tensor.detach().full_tensor() if isinstance(tensor, DTensor) else tensor.detach()


def trained_piece(parameter: Tensor) -> Tensor:
    """Return this process's piece of a parameter as the optimiser moves it, which DeepSpeed may keep more finely than the model."""
    return master_partition(parameter) if is_partitioned(parameter) else piece(parameter)


def cut(full: Tensor, like: Tensor) -> Tensor:
    """Return a copy of this process's piece of a tensor that every process holds whole, cut as `like` is."""
    if is_partitioned(like):
        return cut_partition(full.to(like.device), like)
    if not isinstance(like, DTensor):
        return full.detach().clone()
    full = full.detach().to(like.device)
    return distribute_tensor(full, like.device_mesh, like.placements, src_data_rank=None).to_local().clone()


def join(part: Tensor, like: Tensor) -> Tensor:
    """Return the whole of which every process holds one `part`, cut as `like` is; all must call this."""
    if is_partitioned(like):
        return join_partitions(part, like)
    if not isinstance(like, DTensor):
        return part.detach().clone()
    sharded = DTensor.from_local(
        part.detach().to(like.device),
        like.device_mesh,
        like.placements,
        run_check=False,
        shape=like.shape,
        stride=like.stride(),
    )
    return sharded.full_tensor()


def entries(part: Tensor, like: Tensor, places: Tensor) -> Tensor:
    """Return the whole's entries at `places` that this process's piece holds, and 0 where another process holds them.

    Args:
        part: A piece cut as `like` is; the whole where `like` is an ordinary tensor.
        like: The parameter.
        places: Indices into the flattened whole.
    """
    flat = part.detach().flatten()
    if is_partitioned(like):
        start = partition_start(like)
    elif isinstance(like, DTensor):
        rows = cut(torch.arange(like.shape[0]), like)
        start = int(rows[0]) * (like[0].numel() if like.ndim > 1 else 1) if len(rows) else 0
    else:
        return flat[places.to(flat.device)]
    own = places.to(flat.device) - start
    held = (own >= 0) & (own < flat.numel())
    found = flat.new_zeros(len(places))
    found[held] = flat[own[held]]
    return found


def whole_shape(parameter: Tensor) -> torch.Size:
    """Return the shape of a parameter as a whole, also where DeepSpeed holds it in pieces."""
    return torch.Size(parameter.ds_shape) if is_partitioned(parameter) else parameter.shape  # type: ignore[arg-type]


def whole_parameters(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield every parameter whole, one at a time, so that no more than one is held beside the shards.

    All processes must take every item: gathering is something they do together. A tensor may be gone once the next is taken.
    """
    for name, parameter in model.named_parameters():
        if not is_partitioned(parameter):
            yield name, whole(parameter)
            continue
        from deepspeed import zero  # an attribute, not a module of its own

        with zero.GatheredParameters([parameter]):
            yield name, parameter.detach()


def whole_state(model: nn.Module, *, keep: bool) -> dict[str, Tensor] | None:
    """Return a sharded model's state on the CPU where `keep` is set, None elsewhere; all processes must call this.

    An ordinary model needs no gathering and gives None.
    """
    if not is_sharded(model):
        return None
    state = {}
    for name, full in whole_parameters(model):
        if keep:
            state[name] = full.to("cpu", copy=True)
    buffers = {name for name, _ in model.named_buffers()}
    for name, tensor in model.state_dict().items():
        if keep and name in buffers:
            state[name] = tensor.cpu()
    return state if keep else None


def drop_gathered(model: nn.Module) -> None:
    """Let FSDP forget what it has gathered, so that the next forward pass reads the pieces again."""
    for module in model.modules():
        reshard = getattr(module, "reshard", None)
        if reshard is not None and is_fsdp(module):
            reshard()


def sharded_gradients(model: nn.Module, parameters: Sequence[nn.Parameter], loss: Tensor) -> list[Tensor | None]:
    """Return the gradient of a loss, as its mean over the processes, at parameters that FSDP has sharded.

    Only a backward pass of its own yields it: the sharded parameters are not in the graph, and FSDP reduces gradients into
    them as the pass goes by. What they have gathered before is set aside meanwhile, and the graph stays alive. From here to the
    end of the step every backward pass reduces its gradients, so that none is left unreduced for a later pass to count.
    All processes must call this.

    Args:
        model: The whole model, which FSDP manages.
        parameters: Trainable parameters of it.
        loss: Of this process's micro-batch.
    """
    managed: list[Any] = [module for module in model.modules() if is_fsdp(module)]
    gathered = [module for module in managed if not all(isinstance(p, DTensor) for p in module.parameters())]
    aside = [parameter.grad for parameter in parameters]
    for parameter in parameters:
        parameter.grad = None
    for module in managed:
        module.set_requires_gradient_sync(True, recurse=False)
    loss.backward(retain_graph=True)
    found = [parameter.grad for parameter in parameters]
    for parameter, gradient in zip(parameters, aside, strict=True):
        parameter.grad = gradient
    for module in gathered:  # the pass has let go of the head, which the next one reads before any hook would gather it
        module.unshard()
    return found


def is_fsdp(module: nn.Module) -> bool:
    """Whether FSDP manages this module."""
    from torch.distributed.fsdp import FSDPModule

    return isinstance(module, FSDPModule)


def sum_over_processes(values: list[float], device: torch.device | str) -> list[float]:
    """Return each value summed over the processes of the launch; all must call this."""
    tensor = torch.tensor(values, dtype=torch.float64, device=device)
    torch.distributed.all_reduce(tensor)
    return tensor.tolist()
