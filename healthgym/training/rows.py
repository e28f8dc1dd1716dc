"""The order in which a run meets its tasks, fixed by the seed before the first step."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from healthgym.errors import ConfigError


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """One attempt to make: attempts of a group share task and world seed."""

    task_id: str
    group: int
    seed: int

    def to_prompt(self) -> str:
        """Return the row as the text that TRL carries to the rollout, which sees no other column."""
        return f"{self.seed}|{self.group}|{self.task_id}"

    @classmethod
    def from_prompt(cls, prompt: str) -> "EpisodeRow":
        """Read a row back."""
        seed, group, task_id = prompt.split("|", 2)
        return cls(task_id, int(group), int(seed))


def choose_tasks(task_ids: Sequence[str], count: int, *, seed: int) -> list[str]:
    """Return `count` of the tasks, drawn without replacement, in their original order; 0 returns all."""
    if not count or count >= len(task_ids):
        return list(task_ids)
    drawn = np.random.default_rng([seed, 1]).permutation(len(task_ids))[:count]
    return [task_ids[i] for i in sorted(drawn)]


def plan_rows(task_ids: Sequence[str], count: int, *, seed: int) -> list[EpisodeRow]:
    """Return the run's rows: shuffled passes over the tasks, each row with a world seed of its own.

    Args:
        task_ids: Tasks to practise.
        count: Rows wanted.
        seed: The run's seed.

    Raises:
        ConfigError: There are no tasks.
    """
    if not task_ids:
        raise ConfigError("There are no tasks to train on: check env.domains, env.split and env.families")
    rng = np.random.default_rng([seed, 2])
    order: list[str] = []
    while len(order) < count:
        order += [task_ids[i] for i in rng.permutation(len(task_ids))]
    seeds = rng.integers(2**31, size=count)
    return [
        EpisodeRow(task_id, group, int(s)) for group, (task_id, s) in enumerate(zip(order[:count], seeds, strict=True))
    ]
