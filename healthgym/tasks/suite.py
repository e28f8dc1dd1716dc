"""The frozen suite: every case of every family, made on demand and kept."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from healthgym.errors import ConfigError, NotRegistered, TaskError
from healthgym.tasks.families import Case, TaskFamily
from healthgym.tasks.names import misnamed
from healthgym.tasks.task import SPLITS, Split, Task

if TYPE_CHECKING:
    from healthgym.registry import Domain


class Suite:
    """Cases of one or more domains by task id. Cases are generated when first asked for, then kept.

    Args:
        domains: The domains.
        version: Name of the frozen suite.
        per_family: Cases of every family, by split, in place of the frozen counts: families are generators, and go on
            drawing cases past the frozen ones. Splits not named keep their frozen counts.
    """

    def __init__(
        self, domains: Sequence["Domain"], version: str = "v1", *, per_family: Mapping[str, int] | None = None
    ) -> None:
        self.per_family = dict(per_family or {})
        if unknown := set(self.per_family) - set(SPLITS):
            raise ConfigError(f"per_family: unknown splits {sorted(unknown)}; known: {', '.join(SPLITS)}")
        sizes = ",".join(f"{split}={self.per_family[split]}" for split in SPLITS if split in self.per_family)
        self.version = f"{version}+{sizes}" if sizes else version
        self.domains = {domain.name: domain for domain in domains}
        self._cases: dict[str, Case] = {}

    def ids(self, domain: str | None = None, split: str | None = None, families: Sequence[str] = ()) -> list[str]:
        """Return task ids in a fixed order, filtered by domain, split and family."""
        return [
            f"{d.name}/{family.name}/{s}/{index:04d}"
            for d in self.domains.values()
            if domain in (None, d.name)
            for family in d.families.values()
            if not families or family.name in families
            for s in SPLITS
            if split in (None, s)
            for index in range(self._count(family, s))
        ]

    def case(self, task_id: str) -> Case:
        """Return one case. Raises NotRegistered, offering the nearest id, when there is none."""
        case = self._cases.get(task_id)
        if case is None:
            case = self._cases[task_id] = self._make(task_id)
        return case

    def task(self, task_id: str) -> Task:
        """Return one task."""
        return self.case(task_id).task

    def cases(
        self, domain: str | None = None, split: str | None = None, families: Sequence[str] = ()
    ) -> Iterator[Case]:
        """Yield the cases of a domain, split and some families."""
        return (self.case(task_id) for task_id in self.ids(domain, split, families))

    def digest(self, domain: str | None = None, families: Sequence[str] = ()) -> str:
        """Return the SHA-256 over every task, gold and solution included, and its charts."""
        total = sha256()
        for case in self.cases(domain, families=families):
            total.update(json.dumps(case.task.to_dict(), sort_keys=True, default=str).encode())
            total.update(repr(sorted(case.charts.items())).encode())
        return total.hexdigest()

    def counts(self) -> dict[str, dict[str, int]]:
        """Return the number of tasks by domain and split, without generating any."""
        return {
            name: {split: sum(self._count(f, split) for f in domain.families.values()) for split in SPLITS}
            for name, domain in self.domains.items()
        }

    def summary(self) -> dict[str, Any]:
        """Return counts by domain, difficulty and family."""
        tasks = [case.task for case in self.cases()]
        return {
            "difficulty": dict(Counter(task.difficulty for task in tasks)),
            "families": dict(Counter(task.family for task in tasks)),
        }

    def _count(self, family: TaskFamily, split: str) -> int:
        """Return how many cases a family has; one without a split has none of it, whatever was asked for."""
        frozen = family.counts.get(_split(split), 0)
        return self.per_family.get(split, frozen) if frozen else 0

    def _make(self, task_id: str) -> Case:
        parts = task_id.split("/")
        if len(parts) == 4 and parts[0] in self.domains and parts[2] in SPLITS and parts[3].isdigit():
            domain, family, split, index = self.domains[parts[0]], parts[1], parts[2], int(parts[3])
            known = self._count(domain.families[family], split) if family in domain.families else 0
            if index < known and parts[3] == f"{index:04d}":
                case = domain.families[family].case(domain.name, _split(split), index)
                problems = misnamed(case, domain)
                if problems:
                    raise TaskError(f"{domain.families[family].place}: task {task_id}: {problems[0]}")
                return case
        raise NotRegistered.named("task", task_id, self.ids())


def _split(name: str) -> Split:
    return next(split for split in SPLITS if split == name)


def load_suite(*domains: str, per_family: Mapping[Any, int] | None = None) -> Suite:
    """Return the suite of the named domains (names or folders), or of every registered one.

    Args:
        domains: Names or folders.
        per_family: See `Suite`; None gives the frozen suite.
    """
    return _load(tuple(map(_place, domains)), tuple(sorted((per_family or {}).items())))


def _place(domain: str) -> str:
    """Return a name as it is and a folder as its whole path: what is kept must not depend on the folder one works in."""
    folder = Path(domain).expanduser()
    return str(folder.resolve()) if (folder / "domain.yaml").is_file() else domain


@lru_cache(maxsize=32)
def _load(domains: tuple[str, ...], per_family: tuple[tuple[str, int], ...]) -> Suite:
    from healthgym.registry import domain_names, load_domain

    return Suite([load_domain(name) for name in (domains or domain_names())], per_family=dict(per_family))
