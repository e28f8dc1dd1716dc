"""How long searches wait on one core, worked out from measured CPU times, so that a crowded machine does not distort it.

The clock is virtual. A search that finds the core idle is encoded alone; while the core is busy further ones queue, and are
then encoded together, as the search service does; after that each is searched and answered in turn. What encoding n queries
together costs, and the rest of a search, are CPU times of this process.
"""

import heapq
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from healthgym.retrieval import Retriever

SIZES = (1, 2, 4, 8, 16, 32, 64)
MAX_BATCH = 256
SEARCHES = 20_000
"""Simulated searches a figure."""

TARGET = 4.0


@dataclass(frozen=True, kw_only=True)
class Costs:
    """CPU milliseconds."""

    encode: dict[int, float]
    """Of encoding so many new queries together."""

    rest: Sequence[float]
    """Of single searches whose query is encoded already."""

    def encoding(self, queries: int) -> float:
        """Return what encoding so many queries together takes; beyond 64 as much a query as at 64."""
        largest = SIZES[-1]
        if queries > largest:
            return self.encode[largest] * queries / largest
        return float(np.interp(queries, SIZES, [self.encode[size] for size in SIZES]))

    @property
    def alone(self) -> float:
        """Median of a search that finds the core idle."""
        return self.encode[1] + float(np.median(self.rest))

    @property
    def mean_alone(self) -> float:
        """Mean of a search that finds the core idle: what a utilisation is a share of."""
        return self.encode[1] + float(np.mean(self.rest))


def measure_costs(retriever: Retriever, queries: Sequence[str]) -> Costs:
    """Measure with queries that are new to the retriever; at least 300 of them, the more the steadier."""
    encode = {}
    for size in SIZES:
        groups = [queries[start : start + size] for start in range(0, len(queries) - size + 1, size)][:160]
        retriever.encoder.encode(groups[0], is_query=True)
        spent = [_cpu_ms(lambda group=group: retriever.encoder.encode(group, is_query=True)) for group in groups]
        encode[size] = float(np.mean(spent))
    retriever.search_many(queries)
    return Costs(encode=encode, rest=[_cpu_ms(lambda query=query: retriever.search(query, 10)) for query in queries])


def queue_figures(costs: Costs, episodes: int, thinking_s: float) -> dict[str, Any]:
    """Return p50 and p95 in ms, and the ratio of p95 to a search alone, for a burst, random arrivals and episodes."""
    rng = random.Random(3)
    latencies = {f"burst of {episodes}": simulate([0.0] * episodes, costs, rng)}
    for load in (0.5, 0.8):
        latencies[f"random arrivals, load {load}"] = simulate(_arrivals(load / costs.mean_alone, rng), costs, rng)
    thinking = [rng.expovariate(1 / (thinking_s * 1e3)) for _ in range(episodes)]
    latencies[f"{episodes} episodes, a turn of {thinking_s} s between searches"] = simulate(
        thinking, costs, rng, lambda: rng.expovariate(1 / (thinking_s * 1e3))
    )
    figures: dict[str, Any] = {name: _described(each, costs) for name, each in latencies.items()}
    figures["highest load with p95 under 4 x alone"] = highest_load(costs)
    figures["a search alone"] = {"p50": round(costs.alone, 2), "rest": round(float(np.median(costs.rest)), 2)}
    figures["encoding n together, a query"] = {str(n): round(ms / n, 2) for n, ms in costs.encode.items()}
    return figures


def simulate(
    arrivals: Sequence[float], costs: Costs, rng: random.Random, again: Callable[[], float] | None = None
) -> list[float]:
    """Return the time in ms from arrival to answer of each search.

    Args:
        arrivals: When searches arrive, ms.
        costs: What they take.
        rng: Draws the rest of each search from those measured.
        again: Gives the ms after which an answered episode asks again; None when it does not.
    """
    queue = list(arrivals)
    heapq.heapify(queue)
    clock, latencies = 0.0, []
    while queue and len(latencies) < SEARCHES:
        if queue[0] >= clock:
            clock = queue[0]
            batch = [heapq.heappop(queue)]
        else:
            batch = []
            while queue and queue[0] < clock and len(batch) < MAX_BATCH:
                batch.append(heapq.heappop(queue))
        clock += costs.encoding(len(batch))
        for arrival in batch:
            clock += rng.choice(costs.rest)
            latencies.append(clock - arrival)
            if again is not None:
                heapq.heappush(queue, clock + again())
    return latencies


def highest_load(costs: Costs, step: float = 0.05) -> float:
    """Return the highest share of a core that random arrivals may ask for, each as if alone, with p95 within the target.

    It may exceed 1, as searches that queue are encoded together.
    """
    load = 0.0
    while load < 3:
        rng = random.Random(5)
        following = simulate(_arrivals((load + step) / costs.mean_alone, rng), costs, rng)
        if np.percentile(following, 95) > TARGET * costs.alone:
            break
        load = round(load + step, 2)
    return load


def _arrivals(rate: float, rng: random.Random) -> list[float]:
    """Return times of random arrivals at `rate` a ms."""
    return np.cumsum([rng.expovariate(rate) for _ in range(SEARCHES)]).tolist()


def _described(latencies: Sequence[float], costs: Costs) -> dict[str, float]:
    p50, p95 = np.percentile(latencies, [50, 95])
    return {
        "p50": round(float(p50), 1),
        "p95": round(float(p95), 1),
        "p95_over_alone": round(float(p95) / costs.alone, 2),
    }


def _cpu_ms(run: Callable[[], object]) -> float:
    start = time.process_time_ns()
    run()
    return (time.process_time_ns() - start) / 1e6
