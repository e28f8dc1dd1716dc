"""What a benchmark asks: its items, and the attempts made at them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from healthgym.errors import ConfigError
from healthgym.seeds import mix_seed


@dataclass(frozen=True, kw_only=True)
class Item:
    """One question or task of a benchmark.

    id: unique within the benchmark.
    content: JSON-like, all that the answer and its score rest on, gold included: the digest covers it.
    cluster: patient or question that items share; attempts at one cluster are not independent. Empty means the id.
    strata: what a result is broken down by, such as {"subset": "step1"} or {"domain": ..., "difficulty": ...}.
    """

    id: str
    content: Mapping[str, Any]
    cluster: str = ""
    strata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at one item: `number` counts from 0, `seed` seeds world and sampling."""

    item: Item
    number: int = 0
    seed: int = 0

    @property
    def key(self) -> tuple[str, int]:
        """What names the attempt within a run: (item id, number)."""
        return self.item.id, self.number

    def sampling_seed(self, seed: int = 0) -> int:
        """Return what a single answer is sampled with: of this item and attempt alone, whatever else is asked.

        Were it the same for all items, their answers would fall together, and no interval over items would hold.
        """
        return mix_seed(seed, self.item.id, self.seed)


def attempts_at(items: Sequence[Item], each: int, *, seed: int = 0) -> list[Attempt]:
    """Return `each` attempts at every item, item by item; an attempt's seed depends on nothing but its number and `seed`.

    Raises:
        ConfigError: Fewer than one attempt is asked for, or two items share an id.
    """
    if each < 1:
        raise ConfigError(f"Each item needs at least one attempt, got {each}")
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise ConfigError(f"Two items have the id {item.id!r}; ids must be unique within a benchmark")
        seen.add(item.id)
    return [
        Attempt(item, number, number if seed == 0 else mix_seed(seed, number))
        for item in items
        for number in range(each)
    ]


def items_digest(items: Iterable[Item]) -> str:
    """Return the SHA-256 over ids and contents, whatever their order."""
    lines = sorted(json.dumps([item.id, item.content], sort_keys=True, ensure_ascii=False) for item in items)
    return sha256("\n".join(lines).encode("utf-8", "backslashreplace")).hexdigest()
