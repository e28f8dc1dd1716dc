"""Shows the plan of a run, as `healthgym train RECIPE --dry-run` prints it."""

from typing import TYPE_CHECKING

from healthgym.cli.output import console, table

if TYPE_CHECKING:
    from healthgym.training.plan import Plan

GIB = 2**30


def show_plan(plan: "Plan") -> None:
    """Print a plan as tables."""
    model, volume, memory = plan.architecture, plan.volume, plan.memory
    share = plan.trained / model.parameters
    console.print(
        f"{model.name}: {model.parameters:,} parameters, of which {plan.trained:,} are trained ({share:.2%})",
        markup=False,
    )
    console.print(
        f"{plan.layout.processes} process(es), {_sharding(plan)}, micro-batch {plan.micro_batch}", markup=False
    )
    rows = [(item.name, item.bytes / GIB, item.phase, item.note) for item in memory.items]
    table("Memory of one device", ("item", "GiB", "when", "what"), rows)
    device = (
        "" if plan.device_gib is None else f" of {plan.device_gib:g} GiB: {'fits' if plan.fits else 'does not fit'}"
    )
    console.print(f"Peak {memory.peak / GIB:.2f} GiB{device}", markup=False)
    table("Tasks", ("domain", "tasks"), volume.tasks.items())
    console.print(
        f"{volume.steps} steps of {volume.episodes_per_step} episodes: {volume.episodes:,} in all, {volume.passes:.1f} passes "
        f"over the tasks; at most {volume.sequence:,} tokens an episode (prompts about {volume.prompt_tokens:,}) and "
        f"{volume.tokens_per_step:,} a step",
        markup=False,
    )
    console.print(
        f"{volume.checkpoint_bytes / GIB:.2f} GiB a checkpoint, {volume.disk_bytes / GIB:.2f} GiB on disk", markup=False
    )
    mechanisms = [(one.name, "live" if one.is_live else "off", one.detail) for one in plan.mechanisms]
    table("Mechanisms", ("mechanism", "", "how, or what switches it on"), mechanisms)
    for warning in plan.warnings:
        console.print(f"Warning: {warning}", markup=False)


def _sharding(plan: "Plan") -> str:
    if plan.layout.sharding == "fsdp":
        return "sharded by FSDP2"
    return "model whole on each" if plan.layout.processes > 1 else "model whole"
