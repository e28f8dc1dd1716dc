"""Lists of findings: each submitted item is paired with a gold item and compared part by part."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from healthgym.tasks.predicates import holds, matches

Item = Mapping[str, Any]
GradePart = Callable[[str, Any, Any], float]
"""(part, gold, submitted) to credit in [0, 1]."""


@dataclass(frozen=True, slots=True)
class ItemCredit:
    """What one gold item earned: credit by part, all 0 when nothing submitted was meant by it."""

    gold: Item
    parts: Mapping[str, float]
    found: bool

    @property
    def credit(self) -> float:
        """Mean over the parts."""
        return sum(self.parts.values()) / len(self.parts)


def as_items(values: Any) -> list[Item]:
    """Return a list of items; a plain value becomes {"value": it}, and what is no list becomes a list of one."""
    listed = list(values) if isinstance(values, list | tuple) else [values]
    return [item if isinstance(item, Mapping) else {"value": item} for item in listed]


def pair_items(gold: Sequence[Any], given: Any, match: Sequence[str], grade: GradePart) -> list[ItemCredit]:
    """Return what every gold item earns under the best pairing; items pair when all parts in `match` agree."""
    golds, items = as_items(gold), as_items(given)
    earned = [ItemCredit(item, dict.fromkeys(item, 0.0), False) for item in golds]
    for group in _groups(golds, match):
        best: dict[int, tuple[float, dict[int, Mapping[str, float]]]] = {0: (0.0, {})}  # by the set of paired golds
        for item in items:
            if not all(holds(item.get(name), golds[group[0]].get(name)) for name in match):
                continue
            for paired, (total, pairs) in list(best.items()):
                for place, index in enumerate(group):
                    key = paired | 1 << place
                    if key == paired:
                        continue
                    parts = {name: grade(name, value, item.get(name)) for name, value in golds[index].items()}
                    value = total + sum(parts.values()) / len(parts)
                    if key not in best or value > best[key][0]:
                        best[key] = (value, {**pairs, index: parts})
        _, chosen = max(best.values(), key=lambda one: (one[0], len(one[1])))
        for index, credits in chosen.items():
            earned[index] = ItemCredit(golds[index], credits, True)
    return earned


def items_credit(earned: Sequence[ItemCredit], given: Any, ignore: Item) -> float:
    """Return twice the credit earned over the number of gold and of counted submitted items: an F1 of partial credits.

    Submitted items that were paired always count; others are left out when they meet `ignore`.
    """
    found = sum(item.found for item in earned)
    items = as_items(given)
    free = sum(bool(ignore) and matches(item, ignore) for item in items)
    paired_free = sum(item.found and bool(ignore) and matches(item.gold, ignore) for item in earned)
    counted = max(found, len(items) - free + paired_free)
    if not earned and not counted:
        return 1.0
    return 2 * sum(item.credit for item in earned) / (len(earned) + counted)


def _groups(golds: Sequence[Item], match: Sequence[str]) -> list[list[int]]:
    """Return the places of gold items that share the parts in `match`."""
    groups: dict[str, list[int]] = {}
    for index, item in enumerate(golds):
        groups.setdefault(repr([item.get(name) for name in match]), []).append(index)
    return list(groups.values())
