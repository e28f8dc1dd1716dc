"""Opening an index on disk, or passages in memory, to search them."""

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from healthgym.errors import ContentError, MissingDependency, PassageIndexError
from healthgym.retrieval.build import DENSE, LEXICAL
from healthgym.retrieval.compatibility import check_encoder
from healthgym.retrieval.dense import NumpyDense, import_faiss, load_faiss
from healthgym.retrieval.encoders import Encoder, HashingEncoder, load_encoder
from healthgym.retrieval.exclusions import read_exclusions
from healthgym.retrieval.lexical import LexicalBuilder, LexicalIndex, import_bm25s
from healthgym.retrieval.manifest import REMEDY, Manifest, check_files, checksum_of, read_manifest
from healthgym.retrieval.passages import Passage
from healthgym.retrieval.reranking import Reranker, load_reranker
from healthgym.retrieval.retriever import Retriever
from healthgym.retrieval.rows import UNKNOWN_LICENCE
from healthgym.retrieval.store import DATES, FileStore, MemoryStore


def open_retriever(
    folder: Path | str,
    encoder: str | Path | Encoder | None = None,
    *,
    verify: bool = True,
    exclude: Path | str | Iterable[str] = frozenset(),
    reranker: str | Path | Reranker | None = None,
) -> Retriever:
    """Open the index in a folder.

    Args:
        folder: What build_index() wrote.
        encoder: The encoder it was built with, or its model in other arithmetic ('minilm' for 'minilm@bfloat16'), which is
            compared with the stored vectors first; loaded by the name in the manifest when None.
        verify: Compare checksums (about 1 s a GB); sizes are compared always. Workers that open an index after a
            verified start may leave it out.
        exclude: Ids that the retriever never returns, or the file that lists them: `healthgym kb audit` writes one.
        reranker: A callable, or the name or folder of a cross-encoder, that orders the first hits anew; None for none.

    Raises:
        PassageIndexError: no index, an unfinished or damaged one, or one built with another encoder; says what to do.
        MissingDependency: faiss, bm25s or the encoder's package is not installed.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    import_faiss()
    import_bm25s()
    check_files(folder, manifest, checksums=verify)
    encoder = load_encoder(manifest.encoder if encoder is None else encoder)
    data = folder / manifest.data
    store = FileStore(data, manifest.sources, manifest.licences)
    dense = load_faiss(data / DENSE)
    if not len(store) == dense.index.ntotal == manifest.passages:
        raise PassageIndexError(
            f"{folder} has {len(store)} passages, {dense.index.ntotal} vectors and {manifest.passages} in its manifest. "
            f"{REMEDY} {folder}"
        )
    check_encoder(folder, manifest, encoder, store, dense)
    return Retriever(
        store,
        dense,
        LexicalIndex.load(data / LEXICAL),
        encoder,
        {"index": manifest.index, "bytes": manifest.bytes, "digest": checksum_of(asdict(manifest))},
        read_exclusions(exclude) if isinstance(exclude, Path | str) else exclude,
        None if reranker is None else load_reranker(reranker),
    )


def index_info(folder: Path | str) -> dict[str, Any]:
    """Describe an index: passages, encoder, index, bytes, checksum_ok, sources, licences, and the problem if there is one.

    Raises:
        PassageIndexError: no index there, or its manifest is damaged.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    problem = _problem(folder, manifest)
    info = {
        "passages": manifest.passages,
        "encoder": manifest.encoder,
        "index": manifest.index,
        "bytes": manifest.bytes,
        "checksum_ok": problem is None,
        "sources": manifest.sources,
        "licences": manifest.licences,
        "unknown_licence": manifest.licences.get(UNKNOWN_LICENCE, 0),
        "duplicates_left_out": manifest.parameters["duplicates"],
        "skipped_rows": manifest.parameters["skipped_rows"],
        "dates": _dates(folder, manifest) if problem is None else None,
    }
    return info if problem is None else {**info, "problem": problem}


def verify_index(folder: Path | str) -> dict[str, str]:
    """Check every file of an index and return 'ok' or the problem by file name, those of the whole index under 'index'.

    Beyond checksums, the tables must agree with each other and every passage must be readable.

    Raises:
        PassageIndexError: no index there, or its manifest is damaged.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    found = dict.fromkeys(manifest.files, "ok")
    for name, entry in manifest.files.items():
        try:
            check_files(folder, replace(manifest, files={name: entry}), checksums=True)
        except PassageIndexError as error:
            found[name] = str(error)
    found["index"] = "damaged files" if set(found.values()) != {"ok"} else _agreement(folder, manifest)
    return found


def _agreement(folder: Path, manifest: Manifest) -> str:
    data = folder / manifest.data
    store = FileStore(data, manifest.sources, manifest.licences)
    vectors = load_faiss(data / DENSE).index.ntotal
    if not len(store) == vectors == manifest.passages:
        return f"{len(store)} passages, {vectors} vectors, {manifest.passages} in the manifest"
    try:
        wrong = next((row for row in range(len(store)) if store.position(store[row].id) != row), None)
    except ContentError as error:
        return str(error)
    return "ok" if wrong is None else f"passage {wrong} is not found by its id"


def _dates(folder: Path, manifest: Manifest) -> dict[str, int]:
    """Return the first and last year of the passages and how many have no date."""
    days = np.load(folder / manifest.data / DATES, mmap_mode="r")
    dated = days[days[:, 0] > 0]
    years = {"from": int(dated[:, 0].min()) // 10_000, "to": int(dated[:, 1].max()) // 10_000} if len(dated) else {}
    return {**years, "undated": len(days) - len(dated)}


def _problem(folder: Path, manifest: Manifest) -> str | None:
    try:
        check_files(folder, manifest, checksums=True)
    except PassageIndexError as error:
        return str(error)
    return None


class MemoryRetriever(Retriever):
    """Searches a small set of passages in memory; needs numpy alone, and ranks words as well where bm25s is installed.

    Args:
        passages: A few thousand at most; nothing is written to disk.
        encoder: Encoder of passages and queries; a HashingEncoder by default.

    Raises:
        ContentError: no passages, or two of one id.
    """

    def __init__(self, passages: Iterable[Passage], encoder: Encoder | None = None) -> None:
        encoder = encoder or HashingEncoder()
        store = MemoryStore(passages)
        if not len(store):
            raise ContentError("a retriever needs at least one passage")
        texts = [passage.full_text for passage in store.passages]
        dense = NumpyDense(np.ascontiguousarray(encoder.encode(texts)))
        super().__init__(
            store, dense, _lexical(store.passages), encoder, {"index": dense.kind, "bytes": dense.vectors.nbytes}
        )


def _lexical(passages: Iterable[Passage]) -> LexicalIndex | None:
    try:
        builder = LexicalBuilder()
    except MissingDependency:
        return None
    builder.add(passage.lexical_text for passage in passages)
    return builder.build()
