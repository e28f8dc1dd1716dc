"""Which task a group practises, chosen when its step comes from how the run has gone so far."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np

from healthgym.errors import ConfigError
from healthgym.rollout import Trajectory
from healthgym.seeds import mix_seed
from healthgym.tasks import Task
from healthgym.tasks.task import DIFFICULTIES
from healthgym.training.config import Curriculum
from healthgym.training.rows import EpisodeRow
from healthgym.training.totals import Totals

FLOOR = 0.05
"""Least weight of an open level, as the variance p (1 - p) of a level that is solved or hopeless would be 0."""
RAREST, COMMONEST = 1.0, 0.1
"""Weight of a task whose rarest tool was never called, and of one whose every tool is the domain's most called."""
MOST_DRAWS = 128
SAMPLE = 64
"""Tasks looked at before training, to refuse a curriculum that could do nothing."""


@dataclass(frozen=True)
class Progress:
    """What a run has seen: the whole state of a curriculum."""

    success: Mapping[str, float]
    """Smoothed success by difficulty level."""
    calls: Mapping[str, float]
    """Smoothed tool calls a step, by "domain/tool"."""


class TaskChooser:
    """Maps each planned row to the task that is practised in its place.

    A row's planned task is only a place in the run. The choice depends on the seed, the row's group and the progress so far,
    which is the same on every process and kept in checkpoints, so that a resumed run chooses as the whole one did. Tasks are
    drawn one by one and taken with a chance in proportion to their weight, so that only those drawn need be made.

    Args:
        task_ids: Tasks to choose among.
        task_of: Returns a task by id.
        settings: The curriculum.
        seed: The run's seed.

    Raises:
        ConfigError: A part of the curriculum has nothing to choose by.
    """

    def __init__(
        self, task_ids: Sequence[str], task_of: Callable[[str], Task], settings: Curriculum, *, seed: int
    ) -> None:
        self.task_of, self.settings, self.seed = task_of, settings, seed
        self.by_domain: dict[str, list[str]] = {}
        for task_id in task_ids:
            self.by_domain.setdefault(task_id.split("/", 1)[0], []).append(task_id)
        self.progress = Progress({}, {})
        self.counts: Counter[str] = Counter()
        """Of this process: `unsuited` rows, for which no drawn task was wanted, and the likeliest of them was taken."""
        self.totals = Totals(self.counts)
        # One task from each stretch of the list, not one at regular distances, which tasks that alternate would fool.
        rng = np.random.default_rng(mix_seed(seed, "curriculum sample", bits=31))
        stretch = max(1, len(task_ids) // SAMPLE)
        places = [start + int(rng.integers(stretch)) for start in range(0, len(task_ids), stretch)]
        sample = [task_of(task_ids[min(place, len(task_ids) - 1)]) for place in places]
        self.levels: list[str] = [level for level in DIFFICULTIES if any(task.difficulty == level for task in sample)]
        self._check(sample)

    @property
    def open_levels(self) -> list[str]:
        """Difficulty levels that are practised now, easiest first."""
        opened = 1
        for level in self.levels[:-1]:
            if self.progress.success.get(level, 0.0) < self.settings.unlock_success:
                break
            opened += 1
        return self.levels[:opened]

    def choose(self, row: EpisodeRow) -> EpisodeRow:
        """Return the row with the task its group practises now."""
        rng = np.random.default_rng(mix_seed(self.seed, "curriculum", row.group, bits=31))
        weights = self._level_weights()
        most = max(weights.values())
        # Levels so rare that the sample missed them come in once all the others are open.
        unseen = most if len(self.open_levels) == len(self.levels) else 0.0
        best, best_weight = row.task_id, -1.0
        for _ in range(MOST_DRAWS):
            task_id = self._draw(rng)
            task = self.task_of(task_id)
            level = weights.get(task.difficulty, 0.0 if task.difficulty in self.levels else unseen)
            weight = level / most * self._rarity(task)
            if rng.random() < weight:
                return replace(row, task_id=task_id)
            if weight > best_weight:
                best, best_weight = task_id, weight
        self.counts["unsuited"] += 1
        return replace(row, task_id=best)

    def observe(self, episodes: Sequence[Trajectory | None]) -> dict[str, float]:
        """Take in one step's episodes of all processes, and return what to log; all must call this."""
        self.totals.settle()
        made = [one for one in episodes if one is not None]
        past = self.settings.smoothing
        success = dict(self.progress.success)
        for level in sorted({one.difficulty for one in made}):
            now = fmean(one.grade.success for one in made if one.difficulty == level)
            success[level] = past * success.get(level, now) + (1 - past) * now
        calls = {name: past * count for name, count in self.progress.calls.items()}
        for one in made:
            for tool in one.tool_calls:
                name = f"{one.domain}/{tool}"
                calls[name] = calls.get(name, 0.0) + (1 - past)
        self.progress = Progress(success, calls)
        return {
            "curriculum/open_levels": float(len(self.open_levels)),
            "curriculum/tools_called": float(len(calls)),
            "curriculum/unsuited": float(self.totals["unsuited"]),
            **{f"curriculum/success/{level}": value for level, value in success.items()},
        }

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs to choose the same tasks."""
        progress = self.progress
        return {
            "success": dict(progress.success),
            "calls": dict(progress.calls),
            "unsuited": self.totals["unsuited"],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        self.progress = Progress(dict(state["success"]), dict(state["calls"]))
        self.totals.load_state_dict({"unsuited": state["unsuited"]})

    def _draw(self, rng: np.random.Generator) -> str:
        names = list(self.by_domain)
        shares = [len(self.by_domain[name]) for name in names]
        balanced = self.settings.domains == "balanced"
        share = np.ones(len(names)) / len(names) if balanced else np.array(shares) / sum(shares)
        ids = self.by_domain[names[int(rng.choice(len(names), p=share))]]
        return ids[int(rng.integers(len(ids)))]

    def _level_weights(self) -> dict[str, float]:
        if not self.settings.difficulty:
            return dict.fromkeys(DIFFICULTIES, 1.0)
        rates = {level: self.progress.success.get(level, 0.5) for level in self.open_levels}
        return {level: max(rate * (1 - rate), FLOOR) for level, rate in rates.items()}

    def _rarity(self, task: Task) -> float:
        if not self.settings.tools:
            return 1.0
        calls = self.progress.calls
        most = max((count for name, count in calls.items() if name.startswith(f"{task.domain}/")), default=0.0)
        least = min(calls.get(f"{task.domain}/{call.tool}", 0.0) for call in task.solution)
        return RAREST - (RAREST - COMMONEST) * least / most if most else RAREST

    def _check(self, sample: Sequence[Task]) -> None:
        settings = self.settings
        if not (settings.difficulty or settings.tools or settings.domains == "balanced"):
            raise ConfigError(
                "env.curriculum chooses by nothing: set difficulty, tools or domains: balanced, or set it to null"
            )
        if settings.difficulty and len(self.levels) < 2:
            raise ConfigError(
                f"env.curriculum.difficulty has one level to choose from ({', '.join(self.levels)}). Widen env.families, "
                "or set it to false."
            )
        if settings.domains == "balanced" and len(self.by_domain) < 2:
            raise ConfigError(
                f"env.curriculum.domains: balanced has one domain ({next(iter(self.by_domain), 'none')}). Add to "
                "env.domains, or set it to natural."
            )
        if settings.tools and len({frozenset(call.tool for call in task.solution) for task in sample}) < 2:
            raise ConfigError(
                "env.curriculum.tools: every solution uses the same tools. Widen env.families, or drop it."
            )
