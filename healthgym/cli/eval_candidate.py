"""Opens what `healthgym eval` measures: the candidate of an engine, and what its episodes share."""

import importlib
from collections.abc import Mapping
from inspect import signature
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from healthgym.errors import ConfigError, MissingDependency, nearest

if TYPE_CHECKING:
    from healthgym.evaluation.candidate import Candidate
    from healthgym.world import Services

ENGINES: Mapping[str, tuple[str, str]] = {
    "transformers": ("healthgym.evaluation.transformers_candidate", "open_transformers"),
    "vllm": ("healthgym.evaluation.vllm_candidate", "open_vllm"),
    "openai": ("healthgym.evaluation.openai_candidate", "open_endpoint"),
    "vision": ("healthgym.evaluation.vision_candidate", "open_vision"),
}
"""By engine, the module and function that open a candidate."""


def open_candidate(engine: str, checkpoint: str, options: Mapping[str, Any]) -> "Candidate":
    """Return the candidate that an engine opens, given the options that were set.

    Raises:
        ConfigError: There is no such engine, or it cannot open the checkpoint.
        MissingDependency: A package it needs is not installed.
    """
    if engine not in ENGINES:
        raise ConfigError(f"No engine {engine!r}.{nearest(engine, ENGINES)}")
    module, function = ENGINES[engine]
    try:
        opener = getattr(importlib.import_module(module), function)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("healthgym"):
            raise ConfigError(f"This installation has no engine {engine!r}: {error.name} is missing") from error
        raise MissingDependency.extra(f"the engine {engine}", "vllm" if engine == "vllm" else "train") from error
    given = {name: value for name, value in options.items() if value is not None}
    known = list(signature(opener).parameters)[1:]
    for name in given:
        if name not in known:
            raise ConfigError(f"The engine {engine} has no option {name!r}.{nearest(name, known)}")
    made: Candidate = opener(checkpoint, **_checked(engine, opener, given))
    return made


def _checked(engine: str, opener: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options as what the opener takes. Raises ConfigError for one of another kind."""
    from pydantic import TypeAdapter, ValidationError

    kinds, made = get_type_hints(opener), {}
    for name, value in given.items():
        try:
            made[name] = TypeAdapter(kinds[name]).validate_python(value)
        except ValidationError as error:
            raise ConfigError(
                f"The engine {engine} cannot take {name}={value!r}: {error.errors()[0]['msg'].lower()}"
            ) from None
        if isinstance(made[name], float) and not isfinite(made[name]):
            raise ConfigError(f"The engine {engine} cannot take {name}={value!r}: a finite number is needed")
    return made


def open_services(index: Path | str | None, exclude: Any = (), encoder: str | None = None) -> "Services | None":
    """Return what episodes share: the index in a folder, opened; None leaves the built-in passages."""
    if index is None:
        return None
    from healthgym.retrieval import SearchService, open_retriever
    from healthgym.world import Services

    return Services(retriever=SearchService(open_retriever(index, encoder, exclude=exclude)))
