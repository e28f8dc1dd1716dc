"""How much a run does: steps, episodes, tokens, tasks by domain, and what its checkpoints take on disk."""

import json
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from healthgym.rollout.source import episode_maker
from healthgym.training.config import RunConfig
from healthgym.training.plan.architecture import Architecture
from healthgym.training.plan.memory import FLOAT, MOMENTS, trained_parameters
from healthgym.training.rows import choose_tasks

if TYPE_CHECKING:
    from healthgym.tasks import Suite

SAMPLED_PROMPTS = 8
CHARACTERS_PER_TOKEN = 3.5
"""Of prompts in English with figures and JSON: an assumption, used where no limit of the context is set."""


@dataclass(frozen=True)
class Volume:
    """What a run does in numbers."""

    tasks: dict[str, int]
    """Tasks practised, by domain."""
    steps: int
    episodes_per_step: int
    episodes: int
    passes: float
    """How often each task is attempted by a group."""
    prompt_tokens: int
    """Of the longest sampled prompt, estimated from its characters."""
    sequence: int
    """Most tokens of one trajectory, prompt included."""
    tokens_per_step: int
    """Most tokens that a step's trajectories hold."""
    checkpoint_bytes: float
    disk_bytes: float
    """Of the run folder with all checkpoints that are kept, one being written, and both saved models."""


def plan_volume(
    config: RunConfig, architecture: Architecture, suite: "Suite", task_ids: list[str], *, sharded: bool = False
) -> Volume:
    """Return what a run does, from its settings and the tasks it practises."""
    optim, rollout = config.optim, config.rollout
    batch = optim.tasks_per_step * optim.num_generations
    rounds = ceil(optim.steps / optim.num_iterations)
    prompt = prompt_tokens(config, suite, task_ids)
    # A limit that is set is what the longest of all prompts may reach; the sampled ones are but a few.
    wanted = rollout.max_context or prompt + rollout.max_completion_tokens
    sequence = min(wanted, architecture.max_positions or wanted)
    trained = trained_parameters(config, architecture)
    model = FLOAT * trained
    saved = 2 * model if sharded else model  # once to be resumed by FSDP, once to be loaded by anybody
    checkpoint = saved + MOMENTS * FLOAT * trained + (FLOAT * trained if config.teacher else 0)
    tasks = dict.fromkeys(suite.domains, 0)
    for task_id in task_ids:
        tasks[task_id.split("/", 1)[0]] += 1
    return Volume(
        tasks=tasks,
        steps=optim.steps,
        episodes_per_step=batch,
        episodes=batch * rounds,
        passes=rounds * optim.tasks_per_step / max(len(task_ids), 1),
        prompt_tokens=prompt,
        sequence=sequence,
        tokens_per_step=batch * sequence,
        checkpoint_bytes=checkpoint,
        disk_bytes=(config.checkpoint.keep + 1) * checkpoint + 2 * model,
    )


def prompt_tokens(config: RunConfig, suite: "Suite", task_ids: list[str]) -> int:
    """Return an estimate of the longest prompt's tokens, tools included, over a few of the run's tasks."""
    from healthgym.rollout import Job

    make = episode_maker(suite, profile=config.env.prompt_profile, max_turns=config.env.max_turns)
    longest = 0
    for task_id in choose_tasks(task_ids, SAMPLED_PROMPTS, seed=config.seed):
        episode = make(Job(task_id))
        characters = sum(len(str(message["content"])) for message in episode.messages)
        longest = max(longest, characters + len(json.dumps(episode.tools)))
    return ceil(longest / CHARACTERS_PER_TOKEN)
