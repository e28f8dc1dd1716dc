"""Reads a recipe into a RunConfig, with errors that name the file, the key and the nearest known one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from healthgym.errors import ConfigError, nearest
from healthgym.training.config import RunConfig
from healthgym.training.presets import PRESETS, under


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> RunConfig:
    """Read a YAML recipe and lay `a.b=c` overrides over it.

    Raises:
        ConfigError: The file is missing or no YAML mapping, a key is unknown, or a value does not fit.
    """
    return make_config(recipe_values(path), overrides, source=str(path))


def recipe_values(path: str | Path) -> Any:
    """Read a YAML recipe as plain values, nothing laid under or over it.

    Raises:
        ConfigError: The file is missing or no YAML.
    """
    path = Path(path)
    if not path.is_file():
        raise ConfigError(
            f"No recipe {path}. Give the path of a YAML file, for instance recipes/quickstart/tt_opd.yaml"
        )
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not valid YAML: {error}") from None
    return {} if values is None else values


def make_config(values: Any, overrides: Sequence[str] = (), *, source: str = "the config") -> RunConfig:
    """Build a RunConfig from plain values: preset defaults, then `values`, then `overrides`.

    Raises:
        ConfigError: As `load_config`; messages begin with `source`.
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f"{source}: expected a mapping of sections, got {type(values).__name__}")
    for override in overrides:
        values = under(values, _override(override))
    preset = values.get("preset", RunConfig.model_fields["preset"].default)
    if not isinstance(preset, str) or preset not in PRESETS:
        raise ConfigError(f"{source}: no preset {preset!r}.{nearest(str(preset), PRESETS)}")
    try:
        return RunConfig.model_validate(under(PRESETS[preset], values))
    except ValidationError as error:
        problems = "\n  ".join(_explain(problem) for problem in error.errors())
        raise ConfigError(f"{source}:\n  {problems}") from None


def dump_config(config: RunConfig) -> str:
    """Return every setting of a run as YAML that loads to the same config."""
    return yaml.safe_dump(config.model_dump(by_alias=True, mode="json"), sort_keys=False, allow_unicode=True)


def _override(text: str) -> dict[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not all(key.split(".")):
        raise ConfigError(f"--set {text!r}: expected a.b=value, for instance optim.steps=20")
    try:
        nested: Any = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise ConfigError(f"--set {text!r}: the value is not valid YAML: {error}") from None
    for part in reversed(key.split(".")):
        nested = {part: nested}
    return nested


def _explain(problem: Any) -> str:
    """Say in one line what arrived and what was expected."""
    location = [str(part) for part in problem["loc"]]
    key = ".".join(location)
    if problem["type"] == "extra_forbidden":
        return f"unknown key {key!r}.{nearest(location[-1], _known(location[:-1]))}"
    if problem["type"] == "missing":
        return f"{key} is missing"
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "value_error":
        return f"{key}: {message}" if key else message
    arrived = problem["input"]
    return f"{key}: got {arrived!r} ({type(arrived).__name__}). {message}"


def _known(location: Sequence[str]) -> list[str]:
    """Return the keys of the section at `location`."""
    model: type[BaseModel] = RunConfig
    for part in location:
        named = {field.alias or name: field.annotation for name, field in model.model_fields.items()}
        model = _section(named.get(part)) or model
    return [field.alias or name for name, field in model.model_fields.items()]


def _section(annotation: Any) -> type[BaseModel] | None:
    options = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return next((item for item in options if isinstance(item, type) and issubclass(item, BaseModel)), None)
