"""The plan of a run, put together from its parts."""

from dataclasses import asdict, dataclass
from typing import Any

from healthgym.errors import ConfigError
from healthgym.tasks import load_suite
from healthgym.training.batches import micro_batches
from healthgym.training.config import RunConfig
from healthgym.training.plan.architecture import Architecture, architecture_of
from healthgym.training.plan.mechanisms import Mechanism, mechanisms
from healthgym.training.plan.memory import Layout, Memory, Sharding, plan_memory, trained_parameters
from healthgym.training.plan.volume import Volume, plan_volume
from healthgym.training.rows import choose_tasks
from healthgym.training.startup import check_distribution, check_settings

GIB = 2**30


@dataclass(frozen=True)
class Plan:
    """What a run will be."""

    architecture: Architecture
    trained: int
    """Parameters the optimiser moves."""
    layout: Layout
    micro_batch: int
    memory: Memory
    device_gib: float | None
    volume: Volume
    mechanisms: list[Mechanism]
    warnings: list[str]

    @property
    def fits(self) -> bool | None:
        """Whether the peak is within the device's memory; None when that was not given."""
        return None if self.device_gib is None else self.memory.peak <= self.device_gib * GIB

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values; memory in bytes."""
        return {
            "model": {
                "name": self.architecture.name,
                "parameters": self.architecture.parameters,
                "trained": self.trained,
            },
            "processes": self.layout.processes,
            "sharding": self.layout.sharding,
            "micro_batch": self.micro_batch,
            "memory": {
                "items": [asdict(item) for item in self.memory.items],
                "peak": self.memory.peak,
                "device": None if self.device_gib is None else self.device_gib * GIB,
                "fits": self.fits,
            },
            "volume": asdict(self.volume),
            "mechanisms": [asdict(one) for one in self.mechanisms],
            "warnings": self.warnings,
        }


def make_plan(
    config: RunConfig,
    *,
    processes: int = 1,
    sharding: Sharding | None = None,
    device_gib: float | None = None,
    on_device: bool = True,
) -> Plan:
    """Plan a run without loading its model.

    Args:
        config: The run.
        processes: Processes of the launch, one a device.
        sharding: What the launch shards with; None takes FSDP2 for full fine-tuning on several processes.
        device_gib: Memory of a device in GiB.
        on_device: Whether the devices are accelerators.

    Raises:
        ConfigError: A start-up check refuses the run, or its model's sizes are not known.
    """
    check_settings(config)
    if sharding is None:
        sharding = "fsdp" if processes > 1 and config.model.lora is None else "none"
    check_distribution(config, sharding)
    layout = Layout(processes, sharding, on_device)
    sizes = micro_batches(config.optim.tasks_per_step, config.optim.num_generations, processes=processes)
    micro = config.optim.micro_batch or sizes[0]
    if micro not in sizes:
        raise ConfigError(
            f"optim.micro_batch {micro} does not cut a step into equal parts on {processes} processes. Possible: "
            f"{', '.join(map(str, sizes))}"
        )
    architecture = architecture_of(config.model)
    suite = load_suite(*config.env.domains, per_family=config.env.per_family)
    ids = [i for domain in suite.domains for i in suite.ids(domain, config.env.split, config.env.families)]
    task_ids = choose_tasks(ids, config.env.tasks, seed=config.seed)
    if not task_ids:
        raise ConfigError("There are no tasks to train on: check env.domains, env.split and env.families")
    volume = plan_volume(config, architecture, suite, task_ids, sharded=sharding == "fsdp")
    memory = plan_memory(
        config,
        architecture,
        layout,
        sequence=volume.sequence,
        device_bytes=None if device_gib is None else device_gib * GIB,
    )
    plan = Plan(
        architecture=architecture,
        trained=trained_parameters(config, architecture),
        layout=layout,
        micro_batch=micro,
        memory=memory,
        device_gib=device_gib,
        volume=volume,
        mechanisms=mechanisms(config),
        warnings=[],
    )
    plan.warnings.extend(_warnings(config, plan, sizes))
    return plan


def _warnings(config: RunConfig, plan: Plan, sizes: list[int]) -> list[str]:
    found, volume = [], plan.volume
    if plan.fits is False:
        smaller = [size for size in sizes if size < plan.micro_batch]
        advice = f"optim.micro_batch {smaller[0]}" if smaller else "more processes"
        if not config.optim.gradient_checkpointing:
            advice = f"optim.gradient_checkpointing: true, or {advice}"
        found.append(
            f"The peak of {plan.memory.peak / GIB:.1f} GiB is over the device's {plan.device_gib:g} GiB: try {advice}."
        )
    vllm = config.rollout.vllm
    shares = config.rollout.engine == "vllm" and vllm.mode == "colocate" and vllm.kv_cache_gb is None
    if shares and plan.layout.on_device and plan.device_gib is None:
        found.append(
            f"The vLLM engine takes {vllm.gpu_memory_utilization:.0%} of the device besides "
            "(rollout.vllm.gpu_memory_utilization): give --device-memory to have it counted."
        )
    room = volume.sequence - volume.prompt_tokens
    if room < config.rollout.max_completion_tokens:
        found.append(
            f"Prompts of about {volume.prompt_tokens} tokens leave {max(room, 0)} of {volume.sequence} for the episode, "
            f"which rollout.max_completion_tokens {config.rollout.max_completion_tokens} promises more."
        )
    tasks = sum(volume.tasks.values())
    if config.optim.tasks_per_step > tasks:
        found.append(f"A step practises {config.optim.tasks_per_step} tasks, but there are {tasks}: some come twice.")
    if volume.passes < 1:
        found.append(f"The run ends after {volume.passes:.0%} of the {tasks} tasks.")
    if plan.layout.processes > 1 and plan.layout.sharding == "none" and config.model.lora is None:
        found.append("Every process holds optimiser and teacher whole: launch with recipes/accelerate/fsdp2.yaml.")
    if not config.eval.every:
        found.append("Nothing is measured on held-out tasks during the run: set eval.every.")
    return found
