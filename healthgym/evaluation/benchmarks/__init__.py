"""The benchmarks by name: every module here offers some in its `BENCHMARKS`, so a new one is a new file."""

import importlib
import pkgutil
from functools import lru_cache

from healthgym.errors import NotRegistered
from healthgym.evaluation.benchmark import Benchmark, MakeBenchmark, Source


@lru_cache(maxsize=1)
def benchmarks() -> dict[str, MakeBenchmark]:
    """Return what makes each benchmark, by name."""
    found: dict[str, MakeBenchmark] = {}
    for module in pkgutil.iter_modules(__path__):
        found.update(getattr(importlib.import_module(f"{__name__}.{module.name}"), "BENCHMARKS", {}))
    return dict(sorted(found.items()))


def load_benchmark(name: str, source: Source | None = None) -> Benchmark:
    """Return a benchmark by name, its data taken from `source`.

    Raises:
        NotRegistered: There is none of that name; names the nearest.
        ConfigError: Its data is missing or broken; says how to get or mend it.
    """
    known = benchmarks()
    if name not in known:
        raise NotRegistered.named("benchmark", name, known)
    return known[name](source or Source())
