"""Build rate, latency and recall of the passage index, beside the targets.

    python benchmarks/retrieval.py --corpus PATH... --passages 20000 --encoder minilm

Without --corpus the passages are seeded random words: good for speed, meaningless for recall on real text.
"""

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import chain, islice, zip_longest
from pathlib import Path

import numpy as np

from healthgym.retrieval import Passage, Retriever, build_index, load_encoder, open_retriever, read_corpus
from healthgym.retrieval.dense import NumpyDense

TARGETS = {"dense_p50_ms": "< 2", "recall_at_10": ">= 0.97", "index_bytes_per_vector": "<= 543 (450 MB for 828,000)"}


def random_passages(seed: int = 0) -> Iterator[Passage]:
    """Yield passages of 80 made-up words, drawn by Zipf's law."""
    rng = np.random.default_rng(seed)
    number = 0
    while True:
        words = [f"w{word}" for word in np.minimum(rng.zipf(1.3, size=80), 50_000)]
        yield Passage(
            id=str(number), title=" ".join(words[:4]), text=" ".join(words), source=f"s{number % 10}", licence="CC0-1.0"
        )
        number += 1


def interleaved(corpora: Sequence[Path]) -> Iterator[Passage]:
    """Yield one passage of each corpus in turn, so that a small sample holds all of them."""
    rows = zip_longest(*(read_corpus(corpus) for corpus in corpora))
    return (passage for passage in chain.from_iterable(rows) if passage)


def percentiles(retriever: Retriever, queries: Sequence[str], **options: object) -> tuple[float, float]:
    """Return p50 and p95 in ms over single searches, query vectors cached beforehand."""
    retriever.search_many(queries)
    seconds = []
    for query in queries:
        start = time.perf_counter()
        retriever.search(query, 10, **options)  # type: ignore[arg-type]
        seconds.append(time.perf_counter() - start)
    return float(np.percentile(seconds, 50) * 1e3), float(np.percentile(seconds, 95) * 1e3)


def recall(retriever: Retriever, exact: NumpyDense, queries: Sequence[str], sources: list[str] | None = None) -> float:
    """Return the share of the exact ten nearest that the index finds, over float32 vectors of the same encoder."""
    vectors = retriever.encoder.encode(queries, is_query=True)
    allowed = retriever.store.allowed(frozenset(sources) if sources else None, None, frozenset())
    truth = [set(positions.tolist()) for positions, _ in exact.search(vectors, 10, allowed)]
    hits = retriever.search_many(queries, 10, mode="dense", sources=sources)
    found = [{retriever.store.position(hit.id) for hit in each} for each in hits]
    return float(np.mean([len(want & got) / len(want) for want, got in zip(truth, found, strict=True) if want]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", nargs="*", type=Path, default=[], help="passage files or folders")
    parser.add_argument("--passages", type=int, default=5_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--encoder", default="hashing-384")
    parser.add_argument("--kind", default="hnsw", choices=("auto", "exact", "hnsw"))
    arguments = parser.parse_args()

    source = interleaved(arguments.corpus) if arguments.corpus else random_passages()
    passages = list(islice(source, arguments.passages + arguments.queries))
    asked, passages = passages[: arguments.queries], passages[arguments.queries :]
    queries = [" ".join(passage.text.split()[:20])[:500] for passage in asked]
    encoder = load_encoder(arguments.encoder)
    result: dict[str, float | int | str] = {
        "corpus": "real" if arguments.corpus else "random words",
        "encoder": encoder.name,
    }
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        manifest = build_index([passages], Path(folder) / "index", encoder, kind=arguments.kind)
        result |= {"passages": manifest.passages, "index": manifest.index}
        result["built_per_s"] = round(len(passages) / (time.perf_counter() - start), 1)
        start = time.perf_counter()
        retriever = open_retriever(Path(folder) / "index", encoder)
        result["open_ms"] = round((time.perf_counter() - start) * 1e3, 1)
        for mode in ("dense", "lexical", "fused"):
            for name, value in zip(("p50", "p95"), percentiles(retriever, queries, mode=mode), strict=True):
                result[f"{mode}_{name}_ms"] = round(value, 3)
        exact = NumpyDense(encoder.encode([passage.full_text for passage in passages]))
        result["recall_at_10"] = round(recall(retriever, exact, queries), 4)
        if len(retriever.store.sources) > 1:
            few = min(retriever.store.sources.items(), key=lambda item: item[1])[0]
            result["recall_at_10_one_source"] = round(recall(retriever, exact, queries, [few]), 4)
        result["index_bytes_per_vector"] = round(manifest.files["dense.faiss"]["bytes"] / len(passages), 1)
        result["all_bytes_per_passage"] = round(manifest.bytes / len(passages), 1)
    result["peak_memory_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    for name, value in result.items():
        print(f"{name:26} {value!s:>14}   {'target ' + TARGETS[name] if name in TARGETS else ''}".rstrip())
    print(json.dumps(result))


if __name__ == "__main__":
    main()
