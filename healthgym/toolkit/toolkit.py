"""A domain's tools bound to one episode's world."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel

from healthgym.errors import ContentError, ToolError, nearest
from healthgym.toolkit.decorator import spec_of
from healthgym.toolkit.pictures import Picture, Shown
from healthgym.toolkit.spec import ToolSpec

if TYPE_CHECKING:
    from healthgym.world import World


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What one call gave: the text the agent sees, and whether it was a mistake.

    arguments: as validated, JSON-like: a model given to the tool is an object here, so that records can be compared.
    """

    tool: str
    arguments: dict[str, Any]
    content: str
    error: str | None = None
    effect: str = "read"
    pictures: tuple[Picture, ...] = ()


class Toolkit:
    """Base of every domain's toolkit: methods marked `@tool`, plus plain tool functions listed in `shared`.

    A subclass lives in a domain's `toolkit.py`. Its methods reach the episode through `self.world`.
    """

    domain: ClassVar[str] = ""
    shared: ClassVar[tuple[Callable[..., Any] | type["Toolkit"], ...]] = ()
    """Tool functions, or other Toolkit classes, offered here as well."""

    _specs: ClassVar[dict[str, ToolSpec]] = {}
    _owners: ClassVar[dict[str, type["Toolkit"]]] = {}

    def __init__(self, world: "World") -> None:
        self.world = world
        self._bound: dict[str, Toolkit] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._specs, cls._owners = _gather(cls)

    @classmethod
    def specs(cls) -> dict[str, ToolSpec]:
        """Return the tools by name, in order of declaration."""
        return cls._specs

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run one tool. A ToolError becomes a result the agent can act on; any other exception is our bug and raises."""
        spec = self._specs.get(name)
        if spec is None:
            message = f"No tool {name[:80]!r}.{nearest(name[:80], self._specs)}"
            return ToolResult(name, dict(arguments), f"Error: {message}", message)
        try:
            typed = spec.validate(arguments)
            value = self._run(spec, typed)
        except ToolError as error:
            return ToolResult(name, dict(arguments), f"Error: {error}", str(error), spec.effect)
        pictures = value.pictures if isinstance(value, Shown) else ()
        return ToolResult(name, _plain(typed), render(value), None, spec.effect, pictures)

    def picture(self, image_id: str) -> Picture:
        """Return the picture that a task's `image_ids` name; a domain whose prompts show images overrides it."""
        raise ContentError(f"{type(self).__name__} has no picture({image_id!r}); define it to show task.image_ids")

    def _run(self, spec: ToolSpec, typed: dict[str, Any]) -> Any:
        owner = self._owners.get(spec.name)
        if owner is None:
            return spec.function(**typed)
        if isinstance(self, owner):
            return spec.function(self, **typed)
        bound = self._bound.get(owner.__name__)
        if bound is None:
            bound = self._bound[owner.__name__] = owner(self.world)
        return spec.function(bound, **typed)


def _gather(cls: type[Toolkit]) -> tuple[dict[str, ToolSpec], dict[str, type[Toolkit]]]:
    specs: dict[str, ToolSpec] = {}
    owners: dict[str, type[Toolkit]] = {}

    def add(spec: ToolSpec, owner: type[Toolkit] | None) -> None:
        if spec.name in specs and specs[spec.name].function is not spec.function:
            raise ContentError(f"{cls.__name__}: two tools are named {spec.name!r}; rename one")
        specs[spec.name] = spec
        if owner is not None:
            owners[spec.name] = owner

    for base in reversed(cls.__mro__):
        for attribute in vars(base).values():
            spec = spec_of(attribute) if callable(attribute) else None
            if spec is not None:
                specs.pop(spec.name, None)  # a subclass may redefine a tool
                add(replace(spec, domain=cls.domain or "shared"), cls)
    for item in cls.shared:
        if isinstance(item, type) and issubclass(item, Toolkit):
            for spec in item._specs.values():
                add(spec, item._owners.get(spec.name))
        else:
            spec = spec_of(item)
            if spec is None:
                raise ContentError(f"{cls.__name__}.shared: {item!r} is not a tool; decorate it with @tool")
            add(replace(spec, domain="shared"), None)
    return specs, owners


def _plain(value: Any) -> Any:
    """Return validated arguments as JSON-like data; parts of a model that were left out stay out."""
    if isinstance(value, BaseModel):
        return {name: _plain(item) for name, item in value if item is not None}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return {name: _plain(item) for name, item in value.items()} if isinstance(value, dict) else value


def render(value: Any) -> str:
    """Return a tool's value as the short text an agent reads: strings as they are, the rest as compact JSON."""
    if isinstance(value, str | Shown):
        return str(value)
    if isinstance(value, BaseModel):
        value = value.model_dump(exclude_none=True)
    elif is_dataclass(value) and not isinstance(value, type):
        value = {key: item for key, item in asdict(value).items() if item is not None}
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "), default=str)
