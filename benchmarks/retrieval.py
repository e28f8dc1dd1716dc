"""The passage index measured: build, size, memory, latency, recall and quality, beside plain FAISS in the same run.

    python benchmarks/retrieval.py --data FOLDER --vectors kept.npy --scale 828000 --out results.json

FOLDER holds passage files; MedQuAD's among them (medquad.jsonl.gz) brings questions with known answers. --vectors keeps what
was encoded, so that the next run encodes nothing twice. --scale N builds an index of N passages: the real ones, then
variations of them (first sentences of one with the last of another; its vector with noise of length 0.5 added). Without
--data the built-in passages are measured alone. CPU seconds of this process throughout, single queries, one thread.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from retrieval_corpus import KeptVectors, keep_vectors
from retrieval_quality import builtin_quality, corpus_quality
from retrieval_scale import measure_scale
from retrieval_service import measure_service

from healthgym.retrieval import build_index, load_encoder, open_retriever, read_corpus
from healthgym.retrieval.dense import import_faiss
from healthgym.retrieval.encoders import Encoder, is_int8

TARGETS = {
    "dense_p50_ms": "< 2", "recall_at_10": ">= 0.97", "dense_mb_at_828k": "<= 450", "five_processes_pss_ratio": "< 2",
    "p95_at_64_over_p50": "< 4",
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of passage files")
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--vectors", type=Path, help="file that keeps vectors between runs (.npy)")
    parser.add_argument("--only-kept", action="store_true", help="leave out passages whose vectors are not kept yet")
    parser.add_argument("--index", type=Path, help="folder to build in; a temporary one by default")
    parser.add_argument("--scale", type=int, default=0, help="passages of the scale test; 0 leaves it out")
    parser.add_argument("--questions", type=int, default=2000, help="MedQuAD questions, half of them for tuning")
    parser.add_argument("--out", type=Path, help="write all figures here as JSON")
    arguments = parser.parse_args()

    results: dict[str, Any] = {"command": " ".join(sys.argv), "builtin": builtin_quality()}
    show("Task look-ups against the built-in passages", results["builtin"])
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.index or Path(temporary)
        if arguments.data:
            results |= measure_data(arguments, folder)
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1))


def measure_data(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Measure the passages of a folder: encoding, quality, service, and the index at scale."""
    encoder = one_thread(arguments.encoder)
    path = arguments.vectors or folder / "vectors.npy"
    passages = list(read_corpus(arguments.data))
    if arguments.only_kept:
        kept = KeptVectors(encoder, path)
        passages = [passage for passage in passages if kept.has(passage.full_text)]
    results: dict[str, Any] = {"encoded": keep_vectors(encoder, passages, path)}
    show("Encoding", results["encoded"])
    kept = KeptVectors(encoder, path)
    manifest = build_index([passages], folder / "real", kept)
    retriever = open_retriever(folder / "real", kept)
    results["real"] = {"passages": manifest.passages, "index": manifest.index, "bytes": manifest.bytes}
    medquad = arguments.data / "medquad.jsonl.gz"
    if medquad.is_file():
        results["quality"] = corpus_quality(retriever, medquad, arguments.questions)
        show("MedQuAD questions against all passages", results["quality"])
        results["service"] = measure_service(folder / "real", encoder, medquad)
        show("64 searches at once", results["service"])
    if arguments.scale:
        results["scale"] = measure_scale(folder / "scale", passages, kept, medquad, arguments.scale)
        show(f"{arguments.scale:,} passages", results["scale"])
    return results


def one_thread(name: str) -> Encoder:
    """Load an encoder, and let it, torch and FAISS compute in one thread each."""
    import_faiss().omp_set_num_threads(1)
    if is_int8(Path(name)):
        from healthgym.retrieval.int8 import Int8Encoder

        return Int8Encoder(Path(name), threads=1)
    encoder = load_encoder(name)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    return encoder


def show(title: str, figures: dict[str, Any]) -> None:
    """Print one table, targets beside the figures that have one."""
    print(f"\n{title}")
    for name, value in figures.items():
        shown = "  ".join(f"{key} {each}" for key, each in value.items()) if isinstance(value, dict) else str(value)
        print(f"  {name:32} {shown:<40} {'target ' + TARGETS[name] if name in TARGETS else ''}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
