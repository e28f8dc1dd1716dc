"""Where a device's memory goes: what is always there, and what an update and a rollout need on top, one after the other."""

from dataclasses import dataclass
from typing import Literal

from healthgym.training.batches import micro_batches
from healthgym.training.config import RunConfig
from healthgym.training.plan.architecture import Architecture

FLOAT = 4
"""Bytes of a float32."""
MOMENTS = 2
"""Averages that AdamW keeps of each trained parameter."""
SCORED_TOKENS, SCORED_IDS = 4096, 32768
"""Largest piece of the logits that TRL's head holds at once."""
DIVERGENCE_COPIES = 8
"""Float32 tensors as large as a chunk's logits that live at once: logits, log-probabilities and their products, of both
sides, with the student's gradients."""
MEASURED_COPIES = 3
"""Copies of the gradients while those of the two terms are measured: both sums and what one pass has found."""
CONTEXT_BYTES = 1.0e9
"""Held by the driver and the kernels' workspaces: an assumption, not a measurement."""
FRAGMENTS = 0.05
"""Share of the peak that the allocator cannot use: an assumption, not a measurement."""

Phase = Literal["always", "update", "rollout"]
Sharding = Literal["none", "fsdp"]


@dataclass(frozen=True)
class Item:
    """One use of a device's memory."""

    name: str
    bytes: float
    phase: Phase
    note: str


@dataclass(frozen=True)
class Memory:
    """A device's memory by item."""

    items: tuple[Item, ...]

    def total(self, phase: Phase) -> float:
        """Bytes of one phase's own items."""
        return sum(item.bytes for item in self.items if item.phase == phase)

    @property
    def peak(self) -> float:
        """Bytes at the worst moment: rollout and update come one after the other."""
        return self.total("always") + max(self.total("update"), self.total("rollout"))


@dataclass(frozen=True)
class Layout:
    """How a run lies on devices."""

    processes: int
    sharding: Sharding
    on_device: bool = True
    """Whether there is an accelerator, with a driver and an allocator of its own."""

    @property
    def pieces(self) -> int:
        """Pieces into which parameters are cut."""
        return self.processes if self.sharding == "fsdp" else 1


def plan_memory(
    config: RunConfig, architecture: Architecture, layout: Layout, *, sequence: int, device_bytes: float | None = None
) -> Memory:
    """Return the memory of one device, in bytes by item.

    Args:
        config: The run.
        architecture: Sizes of its model.
        layout: Processes and sharding.
        sequence: Tokens of the longest trajectory, prompt included.
        device_bytes: Memory of the device; without it a vLLM engine that takes a share of it is not counted.
    """
    items = [*_resident(config, architecture, layout), *_update(config, architecture, layout, sequence)]
    items += _rollout(config, architecture, layout, sequence)
    if layout.on_device:
        peak = Memory(tuple(items)).peak
        items += [
            Item("driver and workspaces", CONTEXT_BYTES, "always", "assumed"),
            Item("allocator's fragments", FRAGMENTS * peak, "always", f"assumed, {FRAGMENTS:.0%} of the rest"),
        ]
        items += _engine(config, architecture, device_bytes)
    return Memory(tuple(item for item in items if item.bytes))


def trained_parameters(config: RunConfig, architecture: Architecture) -> int:
    """Return the parameters that the optimiser moves."""
    lora = config.model.lora
    return architecture.parameters if lora is None else architecture.lora_parameters(lora)


def computing_bytes(config: RunConfig) -> int:
    """Return the bytes of a number in the forward pass."""
    return 2 if config.model.dtype == "bfloat16" else FLOAT


def activation_bytes(architecture: Architecture, *, number: int) -> float:
    """Return what one layer keeps of one token for its backward pass, with an attention that keeps no scores.

    Inputs of both normalisations and their float32 copies; queries, keys and values before and after rotation (and before
    and after their own normalisation); the attention's output; gate, up, activation and product of the feed-forward part.
    """
    a = architecture
    norms = 2 * number * a.hidden + 2 * FLOAT * a.hidden + 2 * number * a.hidden
    heads = a.queries + a.keys
    attention = number * (heads + a.keys + heads + a.queries)
    qk_norm = a.has_qk_norm * (2 * FLOAT * heads + number * heads)
    return norms + attention + qk_norm + number * 4 * a.ffn


def _resident(config: RunConfig, architecture: Architecture, layout: Layout) -> list[Item]:
    trained, pieces = trained_parameters(config, architecture), layout.pieces
    number, lora = computing_bytes(config), config.model.lora
    share = f", one piece of {pieces}" if pieces > 1 else ""
    if lora is None:
        items = [Item("weights", FLOAT * trained / pieces, "always", f"float32{share}")]
    else:
        base = architecture.parameters * number / pieces
        kind = "bfloat16" if number == 2 else "float32"
        items = [
            Item("frozen weights", base, "always", kind + share),
            Item("adapters", FLOAT * trained / pieces, "always", f"float32, rank {lora.rank}{share}"),
        ]
    items += [
        Item("gradients", FLOAT * trained / pieces, "always", f"float32{share}"),
        Item("optimiser", MOMENTS * FLOAT * trained / pieces, "always", f"AdamW, two float32 averages{share}"),
    ]
    if config.teacher is not None:
        elsewhere = config.teacher.device == "cpu" and layout.on_device
        held = FLOAT * trained * (config.teacher.rank_factor if lora else 1) / (1 if lora else pieces)
        where = "in host memory" if elsewhere else "float32" + ("" if lora else share)
        items.append(Item("teacher", 0.0 if elsewhere else held, "always", where))
    if config.optim.beta and lora is None:
        items.append(Item("reference model", FLOAT * trained / pieces, "always", f"float32, for optim.beta{share}"))
    if layout.sharding == "fsdp" and config.rollout.engine == "transformers":
        whole = (architecture.parameters + (trained if lora else 0)) * number
        items.append(Item("copy to sample from", whole, "always", "whole on each device"))
    return items


def _engine(config: RunConfig, architecture: Architecture, device_bytes: float | None) -> list[Item]:
    """Return what a vLLM engine beside the trainer holds, at rest as well unless it sleeps."""
    vllm = config.rollout.vllm
    if config.rollout.engine != "vllm" or vllm.mode != "colocate":
        return []
    phase: Phase = "rollout" if vllm.sleep else "always"
    if vllm.kv_cache_gb is not None:
        number = 2 if (vllm.dtype or config.model.dtype) == "bfloat16" else FLOAT
        weights = number * architecture.parameters / vllm.tensor_parallel_size
        return [Item("vLLM engine", weights + vllm.kv_cache_gb * 2**30, phase, "its weights and cache")]
    share = vllm.gpu_memory_utilization
    return [Item("vLLM engine", share * (device_bytes or 0.0), phase, f"{share:.0%} of the device")]


def _update(config: RunConfig, architecture: Architecture, layout: Layout, sequence: int) -> list[Item]:
    optim, number, a = config.optim, computing_bytes(config), architecture
    sizes = micro_batches(optim.tasks_per_step, optim.num_generations, processes=layout.processes)
    rows = optim.micro_batch or sizes[0]
    tokens, trained = rows * sequence, trained_parameters(config, a)
    one_layer = tokens * activation_bytes(a, number=number)
    if optim.gradient_checkpointing:
        kept, note = a.layers * tokens * number * a.hidden + one_layer, "inputs of every layer, and one layer whole"
    else:
        kept, note = a.layers * one_layer, "every layer whole"
    items = [Item("activations", kept, "update", f"{rows} x {sequence} tokens: {note}")]
    tile = min(tokens, SCORED_TOKENS) * min(a.vocab, SCORED_IDS) * number
    items.append(Item("logits being scored", tile, "update", "one tile"))
    gathered = 0.0
    if layout.sharding == "fsdp":
        units = 2 * a.layer_parameters + a.head_parameters * (1 if a.tied else 2)
        gathered = units * (number + (FLOAT if config.model.lora is None else 0))
        items.append(Item("gathered layers", gathered, "update", "two layers and both ends, with their gradients"))
    elif number == 2 and config.model.lora is None:
        items.append(Item("bfloat16 copies", number * trained, "update", "of the weights, made by autocast"))
    if config.teacher is not None:
        items += _teacher(config, a, layout, tokens, trained)
    return items


def _teacher(config: RunConfig, a: Architecture, layout: Layout, tokens: int, trained: int) -> list[Item]:
    items, number = [], computing_bytes(config)
    if layout.sharding == "fsdp":
        aside = FLOAT * trained / layout.pieces + number * a.head_parameters
        items.append(Item("student set aside", aside, "update", "while the teacher reads; the teacher's head"))
    if config.guard.grad_norm_every and config.divergence.mode == "term":
        copies = MEASURED_COPIES * FLOAT * trained / layout.pieces
        items.append(Item("gradients of both terms", copies, "update", "at steps that measure them"))
    if config.divergence.kind in ("topk", "full"):
        items.append(
            Item("hidden states", 2 * tokens * number * a.hidden, "update", "of both, where they are compared")
        )
        chunk = DIVERGENCE_COPIES * min(config.divergence.chunk_size, tokens) * a.vocab * FLOAT
        items.append(Item("divergence", chunk, "update", f"{config.divergence.chunk_size} positions of the vocabulary"))
    return items


def _rollout(config: RunConfig, architecture: Architecture, layout: Layout, sequence: int) -> list[Item]:
    if config.rollout.engine != "transformers":
        return []
    a, optim = architecture, config.optim
    # A full model's own float32 weights are sampled from without autocast; a copy of a sharded one has fewer bytes.
    whole = config.model.lora is None and layout.sharding == "none"
    number = FLOAT if whole else computing_bytes(config)
    rows = min(config.rollout.in_flight, optim.tasks_per_step * optim.num_generations // layout.processes)
    cache = rows * sequence * a.layers * 2 * a.keys * number
    return [Item("keys and values", cache, "rollout", f"{rows} episodes of {sequence} tokens")]
