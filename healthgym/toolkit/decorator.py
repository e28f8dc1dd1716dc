"""`@tool`: turns a typed function or method into a tool."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, get_type_hints

from pydantic import ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from healthgym.errors import ContentError
from healthgym.toolkit.docstring import parse_docstring
from healthgym.toolkit.spec import Effect, ToolSpec

F = TypeVar("F", bound=Callable[..., Any])
SPEC_ATTRIBUTE = "__tool_spec__"


def tool(*, effect: Effect = "read", minutes: float = 0.0, cost: float = 0.0) -> Callable[[F], F]:
    """Declare a function or method as a tool; its signature and docstring become the schema the model reads.

    Every parameter needs a type and a line under `Args:`. Bounds go in `Annotated[int, Field(ge=3, le=15)]`.

    Args:
        effect: "read", "write" (changes the chart), "think" or "submit" (ends the episode).
        minutes: Simulated minutes a call takes.
        cost: Cost of a call in budget units.

    Raises:
        ContentError: at import, when the description, a type or an argument's text is missing.
    """

    def declare(function: F) -> F:
        setattr(function, SPEC_ATTRIBUTE, build_spec(function, effect=effect, minutes=minutes, cost=cost))
        return function

    return declare


def build_spec(function: Callable[..., Any], *, effect: Effect, minutes: float = 0.0, cost: float = 0.0) -> ToolSpec:
    """Derive the ToolSpec of `function` from its signature and docstring."""
    name, text = function.__name__, parse_docstring(function)
    if not text.description:
        raise ContentError(f"tool {name}: the docstring is empty; its first sentence is what the model reads")
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ContentError(f"tool {name}: *args and **kwargs cannot be described; name each argument")
        if parameter.name not in hints:
            raise ContentError(f"tool {name}: argument {parameter.name!r} has no type")
        if parameter.name not in text.arguments:
            raise ContentError(f"tool {name}: argument {parameter.name!r} is not described under 'Args:'")
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], _field(default, text.arguments[parameter.name]))
    stray = set(text.arguments) - set(fields)
    if stray:
        raise ContentError(f"tool {name}: 'Args:' describes {sorted(stray)}, which are not parameters")
    model = create_model(f"{name}_arguments", __config__=ConfigDict(extra="forbid", allow_inf_nan=False), **fields)
    return ToolSpec(name, text.description, effect, model, function, minutes, cost)


def _field(default: Any, description: str) -> FieldInfo:
    if isinstance(default, FieldInfo):
        raise ContentError("write bounds as Annotated[type, Field(...)], not as a default")
    return Field(default, description=description)


def spec_of(function: Callable[..., Any]) -> ToolSpec | None:
    """Return the ToolSpec that `@tool` attached, or None."""
    return getattr(function, SPEC_ATTRIBUTE, None)
