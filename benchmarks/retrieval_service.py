"""The search service under 64 threads: latency of a burst and of paced searches, beside single searches."""

import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
from retrieval_questions import medquad_questions
from retrieval_queue import measure_costs, queue_figures

from healthgym.retrieval import SearchService, open_retriever
from healthgym.retrieval.encoders import Encoder

THREADS = 64
ROUNDS = 6
THINKING_S = 2.0
"""Mean time between two searches of one episode: an agent writes a turn in between."""


def measure_service(folder: Path, encoder: Encoder, medquad: Path) -> dict[str, Any]:
    """Return wall-clock latencies and CPU time a search, in ms; every query is new unless it says repeated.

    On a machine that is shared, wall-clock figures measure its other users too; the CPU time does not. So "worked out" has
    the latencies of a core of one's own, by a virtual clock (see retrieval_queue).
    """
    texts = [question.text for question in medquad_questions(medquad, 4 * THREADS * ROUNDS, seed=23)]
    single, burst, paced, plain = (texts[place::4] for place in range(4))
    results: dict[str, Any] = {}
    with SearchService(open_retriever(folder, encoder, verify=False)) as service:
        _bursts(service.search, [query + " please" for query in single[:THREADS]])  # reads pages, prepares the encoder
        results["single"] = _measured(lambda: [_seconds(service.search, query) for query in single[:200]])
        results["burst of 64, new"] = _measured(lambda: _bursts(service.search, burst))
        results["burst of 64, repeated"] = _measured(lambda: _bursts(service.search, burst))
        before = service.encoder.batches, service.encoder.calls
        results["64 paced, new"] = _measured(lambda: _paced(service.search, paced))
        batches, calls = service.encoder.batches - before[0], service.encoder.calls - before[1]
        results["64 paced, queries a batch"] = round(calls / max(batches, 1), 2)
        sample = burst[:200]
        served = [[hit.id for hit in service.search(query, 10)] for query in sample]
    fresh = [question.text for question in medquad_questions(medquad, 640, seed=29)]
    costs = measure_costs(open_retriever(folder, encoder, verify=False), fresh)
    results["worked out"] = queue_figures(costs, THREADS, THINKING_S)
    alone = open_retriever(folder, encoder, verify=False)
    results["burst of 64, without service"] = _measured(lambda: _bursts(alone.search, plain))
    same = sum(ids == [hit.id for hit in alone.search(query, 10)] for ids, query in zip(served, sample, strict=True))
    results["answers as without service"] = f"{same} of {len(sample)}"
    results["p95_at_64_over_p50"] = {
        name: round(results[name]["p95"] / results["single"]["p50"], 2)
        for name in ("burst of 64, new", "burst of 64, repeated", "64 paced, new", "burst of 64, without service")
    }
    return results


def _bursts(search: Callable[..., object], queries: Sequence[str]) -> list[float]:
    """Ask 64 queries at the same moment, several times over."""
    barrier = Barrier(THREADS)

    def ask(query: str) -> float:
        barrier.wait()
        return _seconds(search, query)

    with ThreadPoolExecutor(THREADS) as pool:
        return [
            taken
            for start in range(0, len(queries) - THREADS + 1, THREADS)
            for taken in pool.map(ask, queries[start : start + THREADS])
        ]


def _paced(search: Callable[..., object], queries: Sequence[str]) -> list[float]:
    """Let 64 threads ask one query after the other, each waiting for as long as an agent might think."""

    def ask(number: int) -> list[float]:
        rng, taken = random.Random(number), []
        for query in queries[number::THREADS]:
            time.sleep(rng.expovariate(1 / THINKING_S))
            taken.append(_seconds(search, query))
        return taken

    with ThreadPoolExecutor(THREADS) as pool:
        return [taken for each in pool.map(ask, range(THREADS)) for taken in each]


def _seconds(search: Callable[..., object], query: str) -> float:
    start = time.perf_counter()
    search(query, 10)
    return time.perf_counter() - start


def _measured(run: Callable[[], Sequence[float]]) -> dict[str, float]:
    """Return percentiles of the latencies that `run` gives, and the CPU time of this process divided among them."""
    start = time.process_time()
    seconds = run()
    spent = (time.process_time() - start) / len(seconds)
    return {
        "n": len(seconds),
        "p50": round(float(np.percentile(seconds, 50)) * 1e3, 2),
        "p95": round(float(np.percentile(seconds, 95)) * 1e3, 2),
        "cpu": round(spent * 1e3, 2),
    }
