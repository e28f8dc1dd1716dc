"""The processes of one launch: how many there are, on what device, and who shards the model."""

import os
from typing import Literal

import torch
from accelerate import PartialState
from accelerate.utils import DistributedType

Sharding = Literal["none", "fsdp", "deepspeed"]


def join_processes() -> PartialState:
    """Return this process's place among those launched together; they meet over gloo where there is no accelerator."""
    on_cpu = _flag("ACCELERATE_USE_CPU") or not torch.accelerator.is_available()
    if on_cpu and sharding() == "deepspeed":  # told of no backend, accelerate takes each process for the only one
        return PartialState(cpu=False, backend="gloo")
    return PartialState(cpu=on_cpu)


def sharding() -> Sharding:
    """Return what the launch shards the model with, as `accelerate launch` tells its processes."""
    if _flag("ACCELERATE_USE_FSDP"):
        return "fsdp"
    return "deepspeed" if _flag("ACCELERATE_USE_DEEPSPEED") else "none"


def fsdp_version() -> int:
    """Return the version of FSDP that the launch asks for."""
    return int(os.environ.get("FSDP_VERSION", "1"))


def let_cpus_shard() -> None:
    """Let a trainer that is built next shard over CPU processes when the launch asks for FSDP.

    FSDP works over gloo, but accelerate switches it on for accelerators only, and would otherwise train in plain data
    parallel without a word.
    """
    processes = PartialState()
    if sharding() == "fsdp" and processes.distributed_type == DistributedType.MULTI_CPU:
        processes.distributed_type = DistributedType.MULTI_GPU


def _flag(name: str) -> bool:
    return os.environ.get(name, "false").lower() in ("1", "true", "yes")
