"""The benchmarks by name: every module here offers some in its `BENCHMARKS`, so a new one is a new file.

A module may also offer `ABOUT`, what the list says of each by name.
"""

import importlib
import pkgutil
from dataclasses import replace
from functools import lru_cache
from typing import Any

from healthgym.errors import NotRegistered
from healthgym.evaluation.about import About
from healthgym.evaluation.benchmark import Benchmark, MakeBenchmark, Source


def _gathered(what: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for module in pkgutil.iter_modules(__path__):
        found.update(getattr(importlib.import_module(f"{__name__}.{module.name}"), what, {}))
    return dict(sorted(found.items()))


@lru_cache(maxsize=1)
def benchmarks() -> dict[str, MakeBenchmark]:
    """Return what makes each benchmark, by name."""
    return _gathered("BENCHMARKS")


@lru_cache(maxsize=1)
def abouts() -> dict[str, About]:
    """Return what the list says of each benchmark, by name; those that say nothing of themselves are not there."""
    return _gathered("ABOUT")


def about(name: str) -> About | None:
    """Return what the list says of a benchmark, None where it says nothing of itself.

    Raises:
        NotRegistered: There is none of that name; names the nearest.
    """
    known = benchmarks()
    if name not in known:
        raise NotRegistered.named("benchmark", name, known)
    return abouts().get(name)


def load_benchmark(name: str, source: Source | None = None) -> Benchmark:
    """Return a benchmark by name, its data taken from `source`.

    Raises:
        NotRegistered: There is none of that name; names the nearest.
        ConfigError: It has no such split; its data is missing or broken, and how to get or mend it.
    """
    told, source = about(name), source or Source()
    if told is not None:
        source = replace(source, split=told.split(name, source.split))
    return benchmarks()[name](source)
