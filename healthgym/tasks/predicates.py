"""Conditions written as data: `{"patient_id": "P1", "drug": {"in": [...]}, "dose_mg": {"gt": 100}}`."""

from collections.abc import Callable, Mapping
from typing import Any

from healthgym.errors import TaskError, nearest
from healthgym.tasks.mentions import count_words, says

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda value, bound: _same(value, bound),
    "ne": lambda value, bound: not _same(value, bound),
    "in": lambda value, bound: any(_same(value, item) for item in bound),
    "not_in": lambda value, bound: not any(_same(value, item) for item in bound),
    "contains": lambda value, bound: _contains(value, bound),
    "mentions": lambda value, bound: isinstance(value, str) and all(says(value, item) for item in bound),
    "omits": lambda value, bound: not isinstance(value, str) or not any(says(value, item) for item in bound),
    "max_words": lambda value, bound: not isinstance(value, str) or count_words(value) <= bound,
    "gt": lambda value, bound: value is not None and value > bound,
    "ge": lambda value, bound: value is not None and value >= bound,
    "lt": lambda value, bound: value is not None and value < bound,
    "le": lambda value, bound: value is not None and value <= bound,
}


def matches(values: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    """Say whether `values` meet every condition of `where`: a plain value means equality, a mapping names operators."""
    return all(holds(values.get(name), condition) for name, condition in where.items())


def holds(value: Any, condition: Any) -> bool:
    """Say whether one value meets one condition. Text is compared without regard to case."""
    if not isinstance(condition, Mapping):
        return _same(value, condition)
    return all(_operator(name)(value, bound) for name, bound in condition.items())


def check(where: Mapping[str, Any]) -> None:
    """Raise TaskError when a condition names an unknown operator."""
    for condition in where.values():
        if isinstance(condition, Mapping):
            for name in condition:
                _operator(name)


def _operator(name: str) -> Callable[[Any, Any], bool]:
    if name not in OPERATORS:
        raise TaskError(f"No operator {name!r}.{nearest(name, OPERATORS)}")
    return OPERATORS[name]


def _same(value: Any, other: Any) -> bool:
    if isinstance(value, str) and isinstance(other, str):
        return value.strip().lower() == other.strip().lower()
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(_same, value, other))
    return bool(value == other)


def _contains(value: Any, bound: Any) -> bool:
    if isinstance(value, str):
        return isinstance(bound, str) and bound.lower() in value.lower()
    return isinstance(value, list | tuple | Mapping) and any(_same(item, bound) for item in value)
