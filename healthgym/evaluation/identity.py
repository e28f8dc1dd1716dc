"""What makes two evaluations the same: everything that changes rows, as digests and settings."""

import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import healthgym
from healthgym.evaluation.benchmark import Benchmark, Hashed, Settings
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.items import Item, items_digest
from healthgym.world import Services


def identity_of(
    benchmark: Benchmark,
    items: Sequence[Item],
    candidate: Candidate | None,
    settings: Settings,
    *,
    seed: int = 0,
    services: Services | None = None,
) -> dict[str, Any]:
    """Return, as JSON-like data, all that the rows of an evaluation depend on.

    How many items are taken and how many attempts are made at each is no part of it: more of either extends an
    evaluation and leaves its rows as they are. Nor is `in_flight`.

    Args:
        benchmark: What is asked.
        items: All items of the benchmark.
        candidate: What is measured; None leaves it out.
        settings: How it is asked.
        seed: Seeds worlds and sampling.
        services: What episodes share; an index among them counts.
    """
    asked = asdict(settings)
    del asked["in_flight"]
    retriever = services.retriever if services is not None else None
    identity = {
        "benchmark": benchmark.name,
        "scorer": benchmark.scorer,
        "items": items_digest(items),
        "hashes": dict(benchmark.hashes) if isinstance(benchmark, Hashed) else {},
        "settings": asked,
        "seed": seed,
        "candidate": None if candidate is None else _candidate(candidate),
        "index": None if retriever is None else _index(retriever),
        "healthgym": healthgym.__version__,
    }
    kept: dict[str, Any] = json.loads(json.dumps(identity, default=str))
    return kept


def differences(before: Mapping[str, Any], now: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return, in words, what differs between two identities, each with both values."""
    found = []
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name), now.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            found += differences(old, new, f"{prefix}{name}.")
        elif old != new:
            found.append(f"{prefix}{name} was {_short(old)}, now {_short(new)}")
    return found


def machine() -> dict[str, Any]:
    """Return where this process runs; recorded, and no part of an identity."""
    found = {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        found["torch"] = str(torch.__version__)
        found["device"] = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    return found


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "engine": candidate.engine,
        "hashes": dict(candidate.hashes),
        "sampling": dict(candidate.sampling),
        "max_context": candidate.max_context,
    }


def _index(retriever: Any) -> dict[str, Any]:
    """Return what tells one index from another; counts of what was searched so far do not."""
    told = getattr(retriever, "info", {})
    told = told if isinstance(told, Mapping) else {}
    return {name: told[name] for name in INDEX if name in told}


INDEX = ("digest", "passages", "encoder", "lexical", "sources")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
