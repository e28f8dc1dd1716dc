"""Rescoring: stored outputs read again by the scorer of today, without inference, and what that changes."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from healthgym.errors import ConfigError, HealthgymError
from healthgym.evaluation.benchmark import Benchmark
from healthgym.evaluation.items import Item, items_digest
from healthgym.evaluation.rows import Row

Again = Callable[[Row, Item], Row]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One row before and after."""

    before: Row
    after: Row

    def to_dict(self) -> dict[str, Any]:
        """Return what changed as JSON-like data, each field as [before, after]."""
        fields = ("status", "score", "prediction", "gold")
        pairs = {name: [getattr(self.before, name), getattr(self.after, name)] for name in fields}
        changed = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
        scores = {
            name: [self.before.scores.get(name), self.after.scores.get(name)]
            for name in sorted({*self.before.scores, *self.after.scores})
            if self.before.scores.get(name) != self.after.scores.get(name)
        }
        return {
            "id": self.before.id,
            "attempt": self.before.attempt,
            **changed,
            **({"scores": scores} if scores else {}),
        }


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What rescoring changed among n rows."""

    n: int
    rows: Sequence[Change]

    @property
    def better(self) -> int:
        """How many rows score higher than before, no score counted as 0."""
        return sum((each.after.score or 0.0) > (each.before.score or 0.0) for each in self.rows)

    @property
    def worse(self) -> int:
        """How many rows score lower than before, no score counted as 0."""
        return sum((each.after.score or 0.0) < (each.before.score or 0.0) for each in self.rows)

    def statuses(self) -> dict[str, int]:
        """Return how many rows went from which status to which other, as {"unparsed > answered": 3}."""
        moves = Counter(
            f"{each.before.status} > {each.after.status}"
            for each in self.rows
            if each.before.status != each.after.status
        )
        return dict(moves.most_common())

    def to_dict(self) -> dict[str, Any]:
        """Return the changes as JSON-like data."""
        return {
            "n": self.n, "changed": len(self.rows), "better": self.better, "worse": self.worse,
            "statuses": self.statuses(), "rows": [each.to_dict() for each in self.rows],
        }  # fmt: skip

    def __str__(self) -> str:
        if not self.rows:
            return f"{self.n:,} rows scored again: none changed"
        moves = "".join(f"; {move}: {count:,}" for move, count in self.statuses().items())
        return f"{self.n:,} rows scored again: {len(self.rows):,} changed, {self.better:,} better, {self.worse:,} worse{moves}"


def rescore_rows(
    benchmark: Benchmark,
    rows: Iterable[Row],
    items: Iterable[Item],
    *,
    digest: str | None = None,
    again: Again | None = None,
) -> tuple[list[Row], Changes]:
    """Score stored rows again and return them, in their order, with what changed.

    Rows lost to the infrastructure stay as they are: there is nothing to read.

    Args:
        benchmark: Its `rescore` reads a row again.
        rows: The stored rows.
        items: All items of the benchmark.
        digest: That of the items the rows were made on; None where it is not known.
        again: Reads a row again in place of `benchmark.rescore`, as by playing an episode's messages once more.

    Raises:
        ConfigError: The items have changed, or a row's item is not among them.
        HealthgymError: The benchmark answered with another row than it was given.
    """
    known = {item.id: item for item in items}
    rows = list(rows)
    if digest is not None and (now := items_digest(known.values())) != digest:
        raise ConfigError(
            f"The items of {benchmark.name} have changed since these rows were made (digest {digest[:12]} then, "
            f"{now[:12]} now): an old answer to another question cannot be scored. Give the data the rows were made on, "
            "or evaluate again"
        )
    missing = [row.id for row in rows if row.id not in known]
    if missing:
        raise ConfigError(
            f"{len(missing)} rows belong to no item of {benchmark.name}, {missing[0]!r} among them. Give the data the "
            "rows were made on, or evaluate again"
        )
    made = [_again(again or benchmark.rescore, benchmark.name, row, known[row.id]) for row in rows]
    changed = [Change(before=old, after=new) for old, new in zip(rows, made, strict=True) if _differs(old, new)]
    return made, Changes(n=len(rows), rows=changed)


def _again(again: Again, name: str, row: Row, item: Item) -> Row:
    if row.status == "infra_error":
        return row
    if row.cluster not in ("", item.cluster) or dict(row.strata) != dict(item.strata):
        raise ConfigError(
            f"The item {item.id!r} of {name} has changed since its row was made: it belongs to another cluster or "
            "stratum. Give the data the rows were made on, or evaluate again"
        )
    try:
        made = again(row, item)
    except (KeyError, TypeError, AttributeError) as error:
        raise HealthgymError(
            f"Row {row.key} does not hold what {name} reads again ({type(error).__name__}: {error}). If rows.jsonl was edited, "
            "delete its line: healthgym eval makes that row anew"
        ) from error
    if made.key != row.key:
        raise HealthgymError(f"{name} answered with row {made.key} when {row.key} was to be scored again")
    return made


def _differs(old: Row, new: Row) -> bool:
    return (old.status, old.score, dict(old.scores), old.prediction, old.gold) != (
        new.status, new.score, dict(new.scores), new.prediction, new.gold,
    )  # fmt: skip
