"""Building a passage index: streamed, bounded in memory, and visible only once it is whole."""

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from healthgym.errors import ConfigError, ContentError, PassageIndexError
from healthgym.retrieval.chunking import UNKNOWN_LICENCE, read_corpus
from healthgym.retrieval.dense import BUILD_BREADTH, EXACT_BELOW, LINKS, build_faiss, import_faiss
from healthgym.retrieval.encoders import Encoder, load_encoder
from healthgym.retrieval.lexical import K1, B, LexicalBuilder
from healthgym.retrieval.manifest import MANIFEST, Manifest, describe_files
from healthgym.retrieval.passages import Passage
from healthgym.retrieval.store import IDS, LINES, OFFSETS, ORIGINS, FileStore, StoreTables

Corpus = Path | str | Iterable[Passage]
Progress = Callable[[str, int, int | None], None]
"""Called with the stage ('read', 'encode', 'dense', 'lexical', 'check'), passages done, and how many there are if known."""

DENSE, LEXICAL = "dense.faiss", "lexical"
KINDS = ("auto", "exact", "hnsw")


def build_index(
    corpora: Iterable[Corpus],
    out: Path | str,
    encoder: str | Path | Encoder = "minilm",
    *,
    kind: str = "auto",
    source: str | None = None,
    licence: str = UNKNOWN_LICENCE,
    batch_size: int = 1024,
    progress: Progress | None = None,
) -> Manifest:
    """Build the index of some corpora in folder `out`, or replace the index there.

    Passages stream through in batches; at most one batch of texts is in memory, vectors wait in a file. Readers see the old
    index until the new one is whole: a build that is killed leaves nothing that opens, and the next build clears it away.

    Args:
        corpora: Passage files, folders (see read_corpus) or passages.
        out: Folder of the index: new, empty, or one that holds an index.
        encoder: An encoder, or what load_encoder() takes.
        kind: 'exact', 'hnsw', or 'auto': exact below 20,000 passages.
        source: Source written on passages cut from text files.
        licence: Licence written on passages cut from text files.
        batch_size: Passages read and encoded at a time.
        progress: See Progress.

    Raises:
        ContentError: a broken corpus, two passages of one id, or no passage at all.
        PassageIndexError: `out` holds something else, or another build is writing there.
        MissingDependency: faiss, bm25s or the encoder's package is not installed.
    """
    if kind not in KINDS:
        raise ConfigError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    if batch_size < 1:
        raise ConfigError(f"batch_size must be at least 1, got {batch_size}")
    import_faiss()
    encoder = load_encoder(encoder)
    report = progress or (lambda stage, done, total: None)
    passages = (passage for corpus in corpora for passage in _passages(corpus, source, licence))
    with _workshop(Path(out)) as folder:
        manifest = _fill(folder, passages, encoder, kind, batch_size, report)
        _publish(Path(out), folder, manifest)
    return manifest


def _passages(corpus: Corpus, source: str | None, licence: str) -> Iterable[Passage]:
    return read_corpus(corpus, source=source, licence=licence) if isinstance(corpus, Path | str) else corpus


@contextmanager
def _workshop(out: Path) -> Iterator[Path]:
    """Yield a folder to build in, locked against other builds; whatever is left of it goes at the end."""
    if out.exists() and not out.is_dir():
        raise PassageIndexError(f"{out} is a file; --out needs a folder")
    if out.is_dir() and not (out / MANIFEST).exists():
        foreign = sorted(
            path.name
            for path in out.iterdir()
            if not path.name.startswith((".building-", ".lock", f".{MANIFEST}", "data-"))
        )
        if foreign:
            raise PassageIndexError(
                f"{out} holds other things ({foreign[0]}) and no index; give a new or empty folder to --out"
            )
    out.mkdir(parents=True, exist_ok=True)
    with (out / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise PassageIndexError(
                f"another build is writing to {out}; wait for it, or give another folder to --out"
            ) from error
        for leftover in out.glob(".building-*"):
            shutil.rmtree(leftover)
        folder = Path(mkdtemp(prefix=".building-", dir=out))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _fill(
    folder: Path, passages: Iterable[Passage], encoder: Encoder, kind: str, batch_size: int, report: Progress
) -> Manifest:
    tables, lexical = _write_passages(folder, passages, batch_size, report)
    sources, licences = tables.counts()
    store = FileStore(folder, sources, licences)
    total = len(store)
    vectors = _encode(folder / "vectors.f32", store, encoder, batch_size, report)
    kind = kind if kind != "auto" else ("exact" if total < EXACT_BELOW else "hnsw")
    faiss = import_faiss()
    faiss.write_index(build_faiss(vectors, kind, lambda done: report("dense", done, total)), str(folder / DENSE))
    del vectors
    (folder / "vectors.f32").unlink()
    lexical.build().save(folder / LEXICAL)
    report("lexical", total, total)
    parameters = {
        "bm25": {"k1": K1, "b": B},
        "hnsw": {"links": LINKS, "build_breadth": BUILD_BREADTH} if kind == "hnsw" else None,
    }
    files = describe_files(folder)
    report("check", total, total)
    return Manifest(
        encoder=encoder.name, fingerprint=encoder.fingerprint, dimension=encoder.dimension, passages=total, index=kind,
        data="", sources=sources, licences=licences, parameters=parameters, files=files,
    )  # fmt: skip


def _write_passages(
    folder: Path, passages: Iterable[Passage], batch_size: int, report: Progress
) -> tuple[StoreTables, LexicalBuilder]:
    """Write passages, offsets, ids and origins; collect words."""
    tables, lexical = StoreTables(), LexicalBuilder()
    offsets = [0]
    stream = iter(passages)
    with (folder / LINES).open("wb") as lines:
        while batch := list(islice(stream, batch_size)):
            for passage in batch:
                tables.add(passage)
                offsets.append(offsets[-1] + lines.write(passage.to_json().encode() + b"\n"))
            lexical.add(passage.full_text for passage in batch)
            report("read", len(offsets) - 1, None)
    if len(offsets) == 1:
        raise ContentError("the corpora hold no passage; give files or folders of passages or text to --corpus")
    np.save(folder / OFFSETS, np.array(offsets, dtype=np.uint64))
    np.save(folder / ORIGINS, tables.origin_table())

    def passage_at(position: int) -> Passage:
        with (folder / LINES).open("rb") as lines:
            lines.seek(offsets[position])
            return Passage.from_row(json.loads(lines.readline()))

    np.save(folder / IDS, tables.id_table(passage_at))
    return tables, lexical


def _encode(path: Path, store: FileStore, encoder: Encoder, batch_size: int, report: Progress) -> np.ndarray:
    """Write the vectors of all passages to a file and return it memory-mapped, float32 (n, d)."""
    total = len(store)
    vectors = np.memmap(path, dtype=np.float32, mode="w+", shape=(total, encoder.dimension))
    for start in range(0, total, batch_size):
        stop = min(start + batch_size, total)
        vectors[start:stop] = encoder.encode([store[position].full_text for position in range(start, stop)])
        report("encode", stop, total)
    vectors.flush()
    return vectors


def _publish(out: Path, folder: Path, manifest: Manifest) -> None:
    """Make a finished build the index: one rename of the manifest, then the old files go."""
    for path in folder.rglob("*"):
        if path.is_file():
            _sync(path)
    data = out / f"data-{folder.name.removeprefix('.building-')}"
    folder.rename(data)
    draft = out / f".{MANIFEST}"
    draft.write_text(replace(manifest, data=data.name).to_json(), encoding="utf-8")
    _sync(draft)
    draft.replace(out / MANIFEST)
    for old in out.glob("data-*"):
        if old != data:
            shutil.rmtree(old)


def _sync(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
