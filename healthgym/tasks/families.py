"""Task families: seeded generators that write tasks, charts and their solutions together."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from healthgym.content import place_of_function, placed
from healthgym.errors import ContentError, HealthgymError, TaskError
from healthgym.seeds import mix_seed
from healthgym.tasks.criteria import DOMAINS_OWN, Budget
from healthgym.tasks.task import SPLITS, Split, Task
from healthgym.world import Chart


@dataclass(frozen=True)
class Case:
    """A task with the charts it is about, by patient id; none for a question that is about no patient."""

    task: Task
    charts: Mapping[str, Chart]

    def __post_init__(self) -> None:
        if not self.charts and any(call.arguments.get("patient_id") for call in self.task.solution):
            raise TaskError(
                f"task {self.task.id}: no chart, though its solution treats a patient; the patient is missing. "
                "Write Case(task, {patient_id: chart, ...}), or add the chart"
            )


@dataclass(frozen=True, kw_only=True)
class Draw:
    """What a generator is given: where it stands, and randomness that belongs to this case alone."""

    domain: str
    family: str
    split: Split
    index: int
    seed: int
    rng: np.random.Generator

    @property
    def task_id(self) -> str:
        """Stable id: domain initials, family, split and index."""
        return f"{self.domain}/{self.family}/{self.split}/{self.index:04d}"


Generate = Callable[[Draw], Case]


@dataclass(frozen=True, kw_only=True)
class TaskFamily:
    """One generator and how many cases of each split the frozen suite holds.

    generate: draws one Case; must be a pure function of its Draw.
    counts: cases by split.
    """

    name: str
    generate: Generate
    counts: Mapping[Split, int]
    version: int = 1
    budget: Budget | None = None
    """The domain's, for tasks that set none."""

    def case(self, domain: str, split: Split, index: int) -> Case:
        """Return case `index` of `split`, the same on every platform."""
        seed = case_seed(domain, self.name, self.version, split, index)
        draw = Draw(
            domain=domain, family=self.name, split=split, index=index, seed=seed, rng=np.random.default_rng(seed)
        )
        try:
            case = self.generate(draw)
        except HealthgymError as error:
            raise placed(error, self._folder()) from error
        task = case.task
        if self.budget is not None and task.criteria.budget is DOMAINS_OWN:
            task = replace(task, criteria=replace(task.criteria, budget=self.budget))
            case = Case(task, case.charts)
        if (task.id, task.domain, task.split, task.family) != (draw.task_id, domain, split, self.name):
            raise TaskError(
                f"{self.place}: family {self.name}: the task calls itself {task.id!r} ({task.domain}, {task.split}, {task.family}); "
                f"use the draw's task_id, domain, split and family: {draw.task_id!r}"
            )
        return case

    @property
    def place(self) -> str:
        """File and line of the generator."""
        return place_of_function(self.generate)

    def _folder(self) -> Path:
        return Path(self.place.rpartition(", line ")[0]).parent


def case_seed(domain: str, family: str, version: int, split: str, index: int) -> int:
    """Return the 63-bit seed of one case: a digest of its coordinates, so that splits never share a patient."""
    return mix_seed(domain, family, f"v{version}", split, index)


def task_family(
    *, counts: Mapping[str, int], name: str | None = None, version: int = 1
) -> Callable[[Generate], Generate]:
    """Mark a function of a domain's `tasks.py` as a task family.

    Args:
        counts: Cases of the frozen suite by split, for example {"train": 60, "val": 10, "test": 20, "test_ood": 10}.
        name: Name of the family; the function's name when absent.
        version: Raise it whenever the cases change.
    """
    unknown = set(counts) - set(SPLITS)
    if unknown:
        raise ContentError(f"task family: unknown splits {sorted(unknown)}; known: {', '.join(SPLITS)}")

    def declare(function: Generate) -> Generate:
        family = TaskFamily(name=name or function.__name__, generate=function, counts=dict(counts), version=version)  # type: ignore[arg-type]
        function.__task_family__ = family  # type: ignore[attr-defined]
        return function

    return declare
