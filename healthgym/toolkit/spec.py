"""A tool's description: name, JSON schema, effect, and the validated way to call it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel

from healthgym.toolkit.validation import validate

Effect = Literal["read", "write", "think", "submit"]
"""read: looks; write: changes the chart; think: neither; submit: ends the episode with a typed answer."""


@dataclass(frozen=True)
class ToolSpec:
    """One tool as declared: what the model is shown and what a call needs."""

    name: str
    description: str
    effect: Effect
    arguments: type[BaseModel]
    function: Callable[..., Any]
    minutes: float = 0.0
    """Simulated minutes that a call takes."""
    cost: float = 0.0
    """Cost of a call in budget units."""
    domain: str = "shared"

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """JSON schema of the arguments, without pydantic's titles and with nested models inlined."""
        return _clean(self.arguments.model_json_schema())

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The tool in the form that chat templates take: {"type": "function", "function": {...}}."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}

    def schema_for(self, profile: str) -> dict[str, Any]:
        """Return the schema for a prompt profile; `compact` keeps one line a tool and no argument texts."""
        if profile == "full":
            return self.schema
        first = self.description.split(". ")[0].rstrip(".") + "."
        parameters = _without_descriptions(self.parameters)
        return {"type": "function", "function": {"name": self.name, "description": first, "parameters": parameters}}

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as typed values. Raises ToolError with a next step when they do not fit."""
        return validate(self.name, self.arguments, arguments)


def _clean(schema: dict[str, Any]) -> dict[str, Any]:
    definitions = schema.get("$defs", {})

    def walk(node: Any, inside_properties: bool = False) -> Any:
        if isinstance(node, list):
            return [walk(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            target = definitions[node["$ref"].rsplit("/", 1)[-1]]
            return walk({**target, **{key: value for key, value in node.items() if key != "$ref"}})
        if not inside_properties and "anyOf" in node:
            options = [option for option in node["anyOf"] if option != {"type": "null"}]
            if len(options) == 1:
                rest = {key: value for key, value in node.items() if key != "anyOf"}
                if rest.get("default", ...) is None:
                    rest.pop("default")
                return walk({**options[0], **rest})
        return {
            key: walk(value, inside_properties=key == "properties" and not inside_properties)
            for key, value in node.items()
            if inside_properties or key not in ("title", "$defs", "additionalProperties")
        }

    cleaned = walk(schema)
    cleaned.pop("description", None)
    cleaned.setdefault("properties", {})
    return cleaned


def _without_descriptions(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without the texts of its arguments, those of nested objects included."""
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            kept[key] = {name: _without_descriptions(inner) for name, inner in value.items()}
        elif key in ("items", "anyOf"):
            inner = [value] if isinstance(value, dict) else value
            cleaned = [_without_descriptions(option) for option in inner]
            kept[key] = cleaned[0] if isinstance(value, dict) else cleaned
        elif key != "description":
            kept[key] = value
    return kept
