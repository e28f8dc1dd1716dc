"""The index at scale: build, size, memory, latency and recall, beside plain FAISS over the same vectors."""

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from retrieval_corpus import KeptVectors, varied_passage, varied_vectors
from retrieval_questions import medquad_questions

from healthgym.retrieval import Passage, Retriever, build_index, open_retriever
from healthgym.retrieval.dense import import_faiss, load_faiss
from healthgym.retrieval.encoders import Encoder

QUERIES = 300
PROCESSES = 5
BLOCK = 8192


class InOrder:
    """Gives passages the vectors of a file in the order they come; queries go to a real encoder."""

    def __init__(self, encoder: Encoder, vectors: np.ndarray) -> None:
        self.encoder, self.vectors, self.next = encoder, vectors, 0
        self.name, self.dimension, self.fingerprint = encoder.name, encoder.dimension, encoder.fingerprint

    def encode(self, texts: Sequence[str], *, is_query: bool = False) -> np.ndarray:
        """Return float32 (n, dimension)."""
        if is_query:
            return self.encoder.encode(texts, is_query=True)
        self.next += len(texts)
        return np.array(self.vectors[self.next - len(texts) : self.next])


def measure_scale(
    folder: Path, passages: Sequence[Passage], kept: KeptVectors, medquad: Path, count: int
) -> dict[str, Any]:
    """Build an index of `count` passages and measure it; see the module's text."""
    folder.mkdir(parents=True, exist_ok=True)
    vectors = write_vectors(folder / "vectors.f32", kept.encode([each.full_text for each in passages]), count)
    queries = [question.text for question in medquad_questions(medquad, QUERIES, seed=11)]
    encoded = kept.encode(queries, is_query=True)
    results: dict[str, Any] = {"real_passages": len(passages), "variations": count - len(passages)}
    results |= {"exact_plain_faiss": plain_exact(vectors, encoded)}
    truth = results["exact_plain_faiss"].pop("truth")
    manifest, results["build_cpu_s"] = timed_build(folder / "index", passages, InOrder(kept, vectors), count)
    results["dense_mb_at_828k"] = round(manifest.files["dense.faiss"]["bytes"] / count * 828_000 / 1e6, 1)
    results["lexical_mb"] = round(sum(v["bytes"] for k, v in manifest.files.items() if "lexical" in k) / 1e6, 1)
    results["all_mb"] = round(manifest.bytes / 1e6, 1)
    data = folder / "index" / manifest.data
    results |= measured_dense(data / "dense.faiss", encoded, truth)
    retriever = open_retriever(folder / "index", InOrder(kept, vectors), verify=False)
    for mode in ("lexical", "fused"):
        results[f"{mode}_p50_ms"], results[f"{mode}_p95_ms"] = search_times(retriever, queries, mode)
    del retriever  # or its pages would count as shared with the processes measured next
    return results | shared_memory(folder / "index", kept, queries)


def write_vectors(path: Path, real: np.ndarray, count: int) -> np.ndarray:
    """Write the real vectors, then variations, and return the file mapped, float32 (count, d)."""
    vectors = np.memmap(path, np.float32, "w+", shape=(count, real.shape[1]))
    vectors[: len(real)] = real[:count]
    for start in range(len(real), count, BLOCK):
        stop = min(start + BLOCK, count)
        vectors[start:stop] = varied_vectors(real, start, stop)
    vectors.flush()
    return np.memmap(path, np.float32, "r", shape=(count, real.shape[1]))


def stream(passages: Sequence[Passage], count: int) -> Iterator[Passage]:
    """Yield the real passages, then variations."""
    yield from passages[:count]
    yield from (varied_passage(passages, number) for number in range(len(passages), count))


def timed_build(
    folder: Path, passages: Sequence[Passage], encoder: InOrder, count: int
) -> tuple[Any, dict[str, float]]:
    """Build and return the manifest with the CPU seconds of each stage; reading includes making the variations."""
    seconds: dict[str, float] = {}
    last = [time.process_time()]

    def progress(stage: str, done: int, total: int | None) -> None:
        now = time.process_time()
        seconds[stage] = round(seconds.get(stage, 0.0) + now - last[0], 1)
        last[0] = now

    manifest = build_index([stream(passages, count)], folder, encoder, kind="auto", progress=progress)
    return manifest, seconds | {"total": round(sum(seconds.values()), 1)}


def plain_exact(vectors: np.ndarray, queries: np.ndarray) -> dict[str, Any]:
    """Return what an exact flat FAISS index takes, and its ten nearest as the truth."""
    faiss = import_faiss()
    index = faiss.IndexFlatIP(vectors.shape[1])
    for start in range(0, len(vectors), BLOCK):
        index.add(np.ascontiguousarray(vectors[start : start + BLOCK]))
    _, truth = index.search(queries, 10)
    p50, p95 = times(lambda query: index.search(query[None], 10), queries[:40])
    return {"mb": round(vectors.nbytes / 1e6, 1), "p50_ms": p50, "p95_ms": p95, "recall_at_10": 1.0, "truth": truth}


def measured_dense(path: Path, queries: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Measure the dense part of an index as healthgym searches it, and the same file as plain FAISS reads and searches it."""
    dense, faiss = load_faiss(path), import_faiss()
    p50, p95 = times(lambda query: dense.search(query[None], 10), queries)
    results: dict[str, Any] = {"dense_p50_ms": p50, "dense_p95_ms": p95}
    results["recall_at_10"] = recall([ranking[0] for ranking in dense.search(queries, 10)], truth)
    plain = faiss.read_index(str(path))
    for breadth in (16, 64, 256):
        faiss.ParameterSpace().set_index_parameter(plain, "efSearch", breadth)
        p50, p95 = times(lambda query: plain.search(query[None], 10), queries)
        found = recall(plain.search(queries, 10)[1], truth)
        results[f"plain_faiss_ef{breadth}"] = {"p50_ms": p50, "p95_ms": p95, "recall_at_10": found}
    return results


def recall(found: Sequence[np.ndarray], truth: np.ndarray) -> float:
    """Return the mean share of the true ten that were found."""
    shares = [len(set(mine.tolist()) & set(want.tolist())) / 10 for mine, want in zip(found, truth, strict=True)]
    return round(float(np.mean(shares)), 4)


def times(search: Callable[[Any], object], queries: Sequence[Any]) -> tuple[float, float]:
    """Return p50 and p95 in CPU milliseconds of single searches, after a round that warms the caches."""
    for query in queries:
        search(query)
    spent = []
    for query in queries:
        start = time.process_time_ns()
        search(query)
        spent.append((time.process_time_ns() - start) / 1e6)
    return round(float(np.percentile(spent, 50)), 3), round(float(np.percentile(spent, 95)), 3)


def search_times(retriever: Retriever, queries: Sequence[str], mode: str) -> tuple[float, float]:
    """Return p50 and p95 of whole searches, vectors of the queries encoded before."""
    retriever.search_many(queries)
    return times(lambda query: retriever.search(query, 10, mode=mode), queries)  # type: ignore[arg-type]


def shared_memory(folder: Path, kept: Encoder, queries: Sequence[str]) -> dict[str, Any]:
    """Search in one process, then in five at once, and return what they take in memory, shared pages divided among them."""
    encoded = dict(zip(queries, kept.encode(queries, is_query=True), strict=True))
    one = _megabytes(folder, encoded, 1)
    five = _megabytes(folder, encoded, PROCESSES)
    return {
        "one_process_mb": one,
        "five_processes_mb": five,
        "five_processes_pss_ratio": round(five["pss"] / max(one["pss"], 0.1), 2),
    }


def _megabytes(folder: Path, encoded: dict[str, np.ndarray], processes: int) -> dict[str, float]:
    context = multiprocessing.get_context("spawn")
    barrier, reports = context.Barrier(processes), context.Queue()
    workers = [context.Process(target=_worker, args=(folder, encoded, barrier, reports)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    found = [reports.get(timeout=900) for _ in workers]
    for worker in workers:
        worker.join()
    return {name: round(sum(each[name] for each in found), 1) for name in found[0]}


def _worker(folder: Path, encoded: dict[str, np.ndarray], barrier: Any, reports: Any) -> None:
    """Open the index, search it all over, and report how memory grew: total, shared pages divided, and private."""

    class Known:
        name, dimension = "known", len(next(iter(encoded.values())))
        fingerprint = json_fingerprint(folder)

        def encode(self, texts: Sequence[str], *, is_query: bool = False) -> np.ndarray:
            return np.stack([encoded[text] for text in texts])

    import_faiss()
    before = memory()
    retriever = open_retriever(folder, Known(), verify=False)
    for query in encoded:
        retriever.search(query, 10)
    barrier.wait(600)
    after = memory()
    barrier.wait(600)
    reports.put({name: after[name] - before[name] for name in after})


def json_fingerprint(folder: Path) -> str:
    """Return the fingerprint in an index's manifest."""
    from healthgym.retrieval.manifest import read_manifest

    return read_manifest(folder).fingerprint


def memory() -> dict[str, float]:
    """Return resident, proportional and private megabytes of this process."""
    rows = [line.split() for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]]
    kilobytes = {row[0].rstrip(":"): int(row[1]) for row in rows}
    return {
        "rss": kilobytes["Rss"] / 1024,
        "pss": kilobytes["Pss"] / 1024,
        "private": (kilobytes["Private_Clean"] + kilobytes["Private_Dirty"]) / 1024,
    }
