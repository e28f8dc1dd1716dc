"""Checks the arguments of a call, gently: what can only mean one thing is accepted, everything else is explained."""

import ast
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from healthgym.errors import ToolError, nearest

_MAX_REPAIRS = 8
MAX_ARGUMENT_CHARACTERS = 4_000
"""Longest text one argument may carry; a longer one is an agent's mistake, not a query."""


def validate(tool: str, model: type[BaseModel], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return `arguments` as typed values for `tool`.

    Numbers written as text are converted, `"null"` or `""` is taken as absent for optional arguments, text meant for
    an enumeration is matched without regard to case, and a lone value is accepted where a list is expected.

    Raises:
        ToolError: names the argument, what arrived and what is expected.
    """
    if not isinstance(arguments, Mapping):
        raise ToolError(f"{tool}: arguments must be a JSON object, got {type(arguments).__name__}.")
    for name, value in arguments.items():
        longest = _longest(value)
        if longest > MAX_ARGUMENT_CHARACTERS:
            raise ToolError(
                f"{tool}: argument {str(name)[:40]!r} has {longest:,} characters; the limit is {MAX_ARGUMENT_CHARACTERS:,}."
            )
    candidate: Mapping[str, Any] = arguments
    for _ in range(_MAX_REPAIRS):
        try:
            parsed = model.model_validate(candidate)
        except ValidationError as error:
            repaired = _repair(model, candidate, error)
            if repaired is None:
                raise ToolError(_explain(tool, model, error)) from None
            candidate = repaired
        else:
            return {name: getattr(parsed, name) for name in model.model_fields}
    raise ToolError(f"{tool}: the arguments do not fit. Expected: {signature(tool, model)}.")


def _longest(value: Any) -> int:
    """Return the length of the longest text in an argument, however deep."""
    if isinstance(value, str):
        return len(value)
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return max((_longest(item) for item in inner), default=0)


def _repair(model: type[BaseModel], arguments: Mapping[str, Any], error: ValidationError) -> dict[str, Any] | None:
    """Return arguments with one unambiguous slip mended, or None when there is none."""
    for problem in error.errors():
        location = problem["loc"]
        if not location or location[0] not in model.model_fields or len(location) > 2:
            continue
        name, value = str(location[0]), problem["input"]
        if len(location) == 1 and _spells_nothing(value) and not model.model_fields[name].is_required():
            return {key: item for key, item in arguments.items() if key != name}
        if problem["type"] in ("literal_error", "enum") and isinstance(value, str | float | int):
            match = _choice(problem, value)
            if match is not None:
                return {**arguments, name: _replaced(arguments[name], location[1:], match)}
        if problem["type"] == "list_type" and len(location) == 1 and isinstance(value, str | float | int):
            return {**arguments, name: [value]}
    return None


def _spells_nothing(value: Any) -> bool:
    return isinstance(value, str) and value.strip().lower() in ("", "null", "none")


def _replaced(value: Any, location: tuple[int | str, ...], match: Any) -> Any:
    if not location or not isinstance(value, list) or not isinstance(location[0], int):
        return match
    return [*value[: location[0]], match, *value[location[0] + 1 :]]


def _choice(problem: Any, value: Any) -> Any:
    """Return the one allowed value that `value` spells, or None."""
    choices = _choices(problem)
    spelled = str(value).strip().lower().replace(" ", "_").replace("-", "_")
    matches = [choice for choice in choices if str(choice).lower().replace("-", "_").replace(" ", "_") == spelled]
    return matches[0] if len(matches) == 1 else None


def _choices(problem: Any) -> list[Any]:
    expected = str(problem.get("ctx", {}).get("expected", ""))
    parts = [part for chunk in expected.split(" or ") for part in chunk.split(", ")]
    choices = []
    for part in parts:
        try:
            choices.append(ast.literal_eval(part.strip()))
        except (ValueError, SyntaxError):
            return []
    return choices


def _explain(tool: str, model: type[BaseModel], error: ValidationError) -> str:
    problems = []
    for problem in error.errors():
        name = ".".join(str(part) for part in problem["loc"]) or "arguments"
        if problem["type"] == "missing":
            problems.append(f"missing argument {name!r}")
        elif problem["type"] == "extra_forbidden":
            problems.append(f"unknown argument {name[:60]!r}.{nearest(name, model.model_fields).rstrip('.')}")
        else:
            problems.append(f"{name}: {problem['msg'][0].lower()}{problem['msg'][1:]}, got {_short(problem['input'])}")
    return f"{tool}: {'; '.join(problems[:4])}. Expected: {signature(tool, model)}."


def signature(tool: str, model: type[BaseModel]) -> str:
    """Return a one-line call signature, optional arguments marked with '?'."""
    parts = [f"{name}{'' if field.is_required() else '?'}" for name, field in model.model_fields.items()]
    return f"{tool}({', '.join(parts)})"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
