"""What the questions to ICU tables are like: items and answers by template, the oracle, the floors, time and memory.

    python benchmarks/ehr_tables.py ehr_mimic3 FOLDER [--patients 5000] [--json]

Both ways to every answer are computed over all drawn patients; a difference ends the run and names its rows. The oracle
runs each item's query with the agent's own tool and submits what it read. Seconds are CPU time of this process. Exit code 1
when the oracle misses an item.
"""

import argparse
import json
import resource
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

from healthgym.evaluation.benchmark import Settings, Source
from healthgym.evaluation.benchmarks import load_benchmark
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.ehr.benchmark import EhrBenchmark
from healthgym.evaluation.ehr.policies import LookingPolicy
from healthgym.evaluation.items import attempts_at, items_digest
from healthgym.evaluation.rows import Row


def measured(benchmark: EhrBenchmark) -> dict[str, Any]:
    """Return the figures of one database."""
    times = [time.process_time()]
    store = benchmark.store
    times.append(time.process_time())
    items = benchmark.items()
    times.append(time.process_time())
    peak_of_build = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows: list[Row] = []
    candidate = Candidate(name="oracle", engine="scripted", policy=LookingPolicy(items))
    benchmark.measure(
        attempts_at(items, 1), candidate, Settings(mode="agentic"), None, lambda row, _=None: rows.append(row)
    )
    times.append(time.process_time())
    return {
        "benchmark": benchmark.name,
        "attribution": benchmark.schema.attribution,
        "patients": len(store.patients),
        "table_rows": sum(store.counts.values()),
        "items": len(items),
        "digest": items_digest(items),
        "answered_both_ways": sum(benchmark.built.asked.values()),
        "left_out": dict(benchmark.built.left_out),
        "oracle": sum(row.score or 0.0 for row in rows) / len(items),
        "floors": {floor.name: floor.score for floor in benchmark.floors(items)},
        "cpu_seconds": dict(zip(("read", "answer", "oracle"), (b - a for a, b in pairwise(times)), strict=True)),
        "peak_mb": {"build": peak_of_build, "all": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024},
        "templates": [template_figures(benchmark, name) for name in benchmark.built.asked],
    }


def template_figures(benchmark: EhrBenchmark, name: str) -> dict[str, Any]:
    """Return how one template's answers are spread."""
    golds = Counter(item.content["gold"] for item in benchmark.items() if item.content["template"] == name)
    return {
        "template": name,
        "asked": benchmark.built.asked[name],
        "items": golds.total(),
        "not_measured": golds[None],
        "different_answers": len(golds),
        "commonest": max((count for gold, count in golds.items() if gold is not None), default=0),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", choices=("ehr_mimic3", "ehr_eicu"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--patients", type=int, default=5000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    benchmark = load_benchmark(given.benchmark, Source(path=given.folder, options={"patients": given.patients}))
    assert isinstance(benchmark, EhrBenchmark)
    found = measured(benchmark)
    if given.json:
        print(json.dumps(found, indent=1))
    else:
        for name, value in found.items():
            if name != "templates":
                print(f"{name}: {value}")
        for row in found["templates"]:
            print(
                "| "
                + " | ".join(f"`{value}`" if name == "template" else str(value) for name, value in row.items())
                + " |"
            )
    sys.exit(0 if found["oracle"] == 1.0 else 1)


if __name__ == "__main__":
    main()
