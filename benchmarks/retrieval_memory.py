"""Peak memory of a build, stage by stage, for growing numbers of passages: a process of its own for each number.

    python benchmarks/retrieval_memory.py --corpus FOLDER --passages 10000,50000,150000

By default the encoder is replaced by one that returns random vectors at once, so that what the build itself takes is seen
apart from a model; --encoder NAME measures with a real one. The graph of the dense index is built with less care than
usual (breadth 8), which takes the same memory. Anonymous memory is what the process itself holds; the rest are pages of
libraries and of files it reads, which a system takes back when it needs them.
"""

import argparse
import json
import multiprocessing
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
from retrieval_corpus import varied_passage

from healthgym.retrieval import Encoder, Passage, build_index, dense, read_corpus, write_passages

EVERY_S = 0.005


class RandomVectors:
    """Gives any texts random unit vectors of 384 numbers."""

    name, fingerprint, dimension = "random", "random", 384

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)

    def encode(self, texts: Sequence[str], *, is_query: bool = False) -> np.ndarray:
        """Return float32 (n, 384)."""
        vectors = self._rng.standard_normal((len(texts), self.dimension), dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class Watch:
    """Samples the memory of this process and keeps the largest of each stage, in megabytes."""

    def __init__(self) -> None:
        self.stage = "start"
        self.peaks: dict[str, dict[str, float]] = {}
        self._stop = Event()
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def progress(self, stage: str, done: int, total: int | None) -> None:
        """Take note of the stage that is at work; what follows a stage's last report belongs to it as well."""
        self.stage = stage

    def _run(self) -> None:
        while not self._stop.wait(EVERY_S):
            peak = self.peaks.setdefault(self.stage, {"all": 0.0, "anonymous": 0.0})
            for name, value in memory().items():
                peak[name] = max(peak[name], value)


def memory() -> dict[str, float]:
    """Return the resident megabytes of this process, and those of them that are no pages of files."""
    rows = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    kilobytes = {row[0]: int(row[1]) for row in rows if row and row[0] in ("VmRSS:", "RssAnon:")}
    return {"all": kilobytes["VmRSS:"] / 1024, "anonymous": kilobytes["RssAnon:"] / 1024}


def measure(corpus: Path, encoder: str, reports: Any) -> None:
    """Build an index of a passage file in a process of its own and report the peaks."""
    dense.import_faiss().omp_set_num_threads(1)
    if encoder == "random":
        dense.BUILD_BREADTH = 8
    model: str | Encoder = RandomVectors() if encoder == "random" else encoder
    start = time.process_time()
    with Watch() as watch, tempfile.TemporaryDirectory(dir=corpus.parent) as folder:
        manifest = build_index([corpus], folder, model, duplicates="near", progress=watch.progress)
    reports.put({"index": manifest.index, "cpu_s": round(time.process_time() - start, 1), "stages": watch.peaks})


def as_many(passages: Sequence[Passage], count: int) -> Iterator[Passage]:
    """Yield the passages, then variations of them when there are too few."""
    return islice(chain(passages, (varied_passage(passages, number) for number in range(len(passages), count))), count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="passage files, or a folder of them")
    parser.add_argument("--passages", default="10000,50000,150000", help="numbers of passages, with commas between")
    parser.add_argument("--encoder", default="random", help="random, or what healthgym kb build takes")
    parser.add_argument("--out", type=Path, help="write all figures here as JSON")
    arguments = parser.parse_args()
    counts = [int(each) for each in arguments.passages.split(",")]
    passages = list(islice(read_corpus(arguments.corpus), max(counts)))
    results: dict[int, Any] = {}
    context = multiprocessing.get_context("spawn")
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            corpus = Path(folder) / "passages.jsonl"
            write_passages(as_many(passages, count), corpus)
            reports = context.Queue()
            worker = context.Process(target=measure, args=(corpus, arguments.encoder, reports))
            worker.start()
            results[count] = reports.get()
            worker.join()
        stages = results[count]["stages"]
        peak = {name: max(each[name] for each in stages.values()) for name in ("all", "anonymous")}
        results[count]["peak"] = peak
        print(
            f"{count:>9,} passages, {results[count]['index']}: peak {peak['all']:.0f} MB, {peak['anonymous']:.0f} anonymous"
        )
        for stage, each in stages.items():
            print(f"          {stage:8} {each['all']:.0f} MB, {each['anonymous']:.0f} anonymous", flush=True)
    first, last = counts[0], counts[-1]
    if last > first:
        grown = {name: results[last]["peak"][name] - results[first]["peak"][name] for name in ("all", "anonymous")}
        shown = ", ".join(f"{grown[name] * 2**20 / (last - first):.0f} {name}" for name in grown)
        print(f"bytes a passage between {first:,} and {last:,}: {shown}")
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
