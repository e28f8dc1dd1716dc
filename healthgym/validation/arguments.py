"""Arguments for trying tools: valid ones drawn from a tool's schema, and every kind of bad one."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from healthgym.tasks import Case, Task
from healthgym.toolkit import ToolSpec

LONG = "x" * 10_000
NOT_ASCII = "Ünbekannt 患者 \u202e№7"
UNKNOWN = "no_such_value_zz"
MAX_POOLED = 100
"""Most values remembered for one argument."""
_NUMBERS = ("number", "integer")
_EXAMPLE = re.compile(r"(?:for example|e\.g\.|such as)\s+([^.;()]+)", re.IGNORECASE)


@dataclass
class ValuePool:
    """Values worth trying for arguments of free text, by (tool, argument) and by argument name."""

    by_place: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    by_name: dict[str, list[Any]] = field(default_factory=dict)

    @classmethod
    def from_tasks(cls, tasks: Iterable[Task]) -> "ValuePool":
        """Gather the arguments that oracles use."""
        pool = cls()
        for task in tasks:
            for call in task.solution:
                for name, value in call.arguments.items():
                    pool.add(call.tool, name, value)
        return pool

    def add(self, tool: str, name: str, value: Any) -> None:
        """Remember one value; repeats are kept once."""
        for values in (self.by_place.setdefault((tool, name), []), self.by_name.setdefault(name, [])):
            if len(values) < MAX_POOLED and value not in values:
                values.append(value)

    def values(self, tool: str, name: str) -> list[Any]:
        """Return what was used in this place, or else for any argument of this name."""
        return self.by_place.get((tool, name)) or self.by_name.get(name, [])


def names_patient(name: str) -> bool:
    """Say whether an argument holds a patient's id, by its name."""
    return name in ("patient_id", "patient")


def draw_arguments(
    spec: ToolSpec, case: Case, rng: np.random.Generator, pool: ValuePool, *, use_pool: bool = True
) -> dict[str, Any]:
    """Return valid arguments for one call: optional ones are left out half of the time."""
    required = spec.parameters.get("required", [])
    return {
        name: _draw(spec.name, name, schema, case, rng, pool if use_pool else ValuePool())
        for name, schema in spec.parameters["properties"].items()
        if name in required or rng.random() < 0.5
    }


def _draw(
    tool: str, name: str, schema: Mapping[str, Any], case: Case, rng: np.random.Generator, pool: ValuePool
) -> Any:
    if names_patient(name):
        return pick(sorted(case.charts) or ["P1"], rng)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return pick(schema["enum"], rng)
    if "anyOf" in schema:
        return _draw(tool, name, pick(schema["anyOf"], rng), case, rng, pool)
    kind = schema.get("type")
    if kind in _NUMBERS:
        return _draw_number(schema, rng)
    if kind == "boolean":
        return bool(rng.random() < 0.5)
    if kind == "array":
        return _draw_array(tool, name, schema, case, rng, pool)
    if kind == "object":
        return {
            key: _draw(tool, key, inner, case, rng, pool)
            for key, inner in schema.get("properties", {}).items()
            if key in schema.get("required", [])
        }
    if kind == "null":
        return None
    return _draw_text(tool, name, schema, rng, pool)


def _draw_number(schema: Mapping[str, Any], rng: np.random.Generator) -> float | int:
    low, high = bounds(schema)
    low = low if low is not None else (0.0 if high is None else high - 100.0)
    high = high if high is not None else low + 100.0
    if schema["type"] == "integer":
        first, last = int(np.ceil(low)), int(np.floor(high))
        first += int(schema.get("exclusiveMinimum") == first)
        last -= int(schema.get("exclusiveMaximum") == last)
        return int(rng.integers(first, last + 1))
    value = round(float(rng.uniform(low, high)), 2)
    inside = low < value < high or (
        value in (low, high) and "exclusiveMinimum" not in schema and "exclusiveMaximum" not in schema
    )
    return value if inside else (low + high) / 2


def _draw_array(
    tool: str, name: str, schema: Mapping[str, Any], case: Case, rng: np.random.Generator, pool: ValuePool
) -> list[Any]:
    fewest = int(schema.get("minItems", 0))
    most = min(int(schema.get("maxItems", fewest + 3)), fewest + 3)
    seen = [item for value in pool.values(tool, name) if isinstance(value, list | tuple) for item in value]
    count = int(rng.integers(max(fewest, min(1, most)), most + 1))
    items = schema.get("items", {"type": "string"})
    if seen and "enum" not in items:
        return [pick(seen, rng) for _ in range(count)]
    return [_draw(tool, name, items, case, rng, pool) for _ in range(count)]


def _draw_text(tool: str, name: str, schema: Mapping[str, Any], rng: np.random.Generator, pool: ValuePool) -> str:
    used = [value for value in pool.values(tool, name) if isinstance(value, str)]
    shown = examples(schema)
    options = used or shown or [name.replace("_", " "), "pain", "history"]
    text = str(pick(options, rng))
    shortest = int(schema.get("minLength", 0))
    return (text + " " * shortest if len(text) < shortest else text)[: int(schema.get("maxLength", 4_000))]


def examples(schema: Mapping[str, Any]) -> list[str]:
    """Return the values that an argument's description gives as examples ("For example P1 or P2.")."""
    found = _EXAMPLE.search(str(schema.get("description", "")))
    if not found:
        return []
    return [part.strip(" '\"`") for part in re.split(r",| or ", found[1]) if part.strip(" '\"`")]


def bounds(schema: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return the lower and upper bound of a number, exclusive ones included, None where there is none."""
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    return low, high


@dataclass(frozen=True)
class BadCall:
    """Arguments with one slip, and whether the tool has to refuse them or merely survive them."""

    slip: str
    argument: str
    arguments: dict[str, Any]
    must_refuse: bool = True


def bad_calls(spec: ToolSpec, good: Mapping[str, Any]) -> Iterator[BadCall]:
    """Yield every kind of bad call that can be made from good arguments."""
    yield BadCall("an argument that does not exist", "zz_unknown", {**good, "zz_unknown": 1})
    required = spec.parameters.get("required", [])
    for name, schema in spec.parameters["properties"].items():
        if name in required:
            yield BadCall("a missing argument", name, {key: value for key, value in good.items() if key != name})
        for slip, value, must_refuse in _bad_values(name, schema):
            yield BadCall(slip, name, {**good, name: value}, must_refuse)


def _bad_values(name: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool]]:
    kind = schema.get("type")
    closed = "enum" in schema or "const" in schema
    if kind is None and not closed and "anyOf" not in schema:
        return  # any value is allowed
    yield "a wrong type", 17 if kind == "object" else {"unexpected": [1]}, True
    if closed:
        yield "a value outside the list", UNKNOWN, True
        yield "non-ASCII text", NOT_ASCII, True
        yield "10,000 characters", LONG, True
    elif kind in _NUMBERS:
        low, high = bounds(schema)
        yield "a number below the range", low - 1 if low is not None else -1e12, low is not None
        yield "a number above the range", high + 1 if high is not None else 1e12, high is not None
        yield "a value that is not finite", float("nan"), True
        yield "a wrong unit", "12 furlongs", True
        yield "non-ASCII text", NOT_ASCII, True
        yield "10,000 characters", LONG, True
    elif kind == "string":
        is_id = names_patient(name) or name.endswith("_id")
        if is_id:
            yield "an unknown id", "P999999", True
        yield "non-ASCII text", NOT_ASCII, is_id
        yield "10,000 characters", LONG, True
    elif kind == "array":
        yield "a list holding an object", [{"unexpected": 1}], schema.get("items", {}).get("type") != "object"
        if schema.get("items", {}).get("type") == "string":
            yield "a list with 10,000 characters in an item", [LONG], True
            yield "a list with non-ASCII text", [NOT_ASCII], "enum" in schema["items"]
    elif kind == "boolean":
        yield "non-ASCII text", NOT_ASCII, True


def pick(options: Sequence[Any], rng: np.random.Generator) -> Any:
    """Return one of `options` as it is; numpy's own choice would turn it into an array's scalar."""
    return options[int(rng.integers(len(options)))]
