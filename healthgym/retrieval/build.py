"""Building a passage index: streamed, bounded in memory, resumable, and visible only once it is whole."""

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path

from healthgym.errors import ConfigError, ContentError
from healthgym.retrieval.corpora import Corpus, corpus_parts
from healthgym.retrieval.dedupe import MODES
from healthgym.retrieval.dense import import_faiss
from healthgym.retrieval.encoders import Encoder, load_encoder
from healthgym.retrieval.growth import Base
from healthgym.retrieval.lexical import import_bm25s
from healthgym.retrieval.manifest import MANIFEST, Manifest, file_checksum, read_manifest
from healthgym.retrieval.rows import Reading
from healthgym.retrieval.stages import DENSE, LEXICAL, Plan, Progress, Stages
from healthgym.retrieval.workshop import Notice, publish, workshop

__all__ = ["DENSE", "KINDS", "LEXICAL", "Corpus", "Progress", "add_passages", "build_index"]

KINDS = ("auto", "exact", "hnsw")


def build_index(
    corpora: Iterable[Corpus],
    out: Path | str,
    encoder: str | Path | Encoder = "minilm",
    *,
    kind: str = "auto",
    source: str | None = None,
    licence: str | None = None,
    fields: Mapping[str, str] | None = None,
    skip_bad: bool = False,
    duplicates: str = "keep",
    batch_size: int = 1024,
    progress: Progress | None = None,
    notice: Notice | None = None,
) -> Manifest:
    """Build the index of some corpora in folder `out`, or replace the index there.

    Passages stream through in batches and vectors wait in a file. Readers see the old index until the new one is whole.
    A build from files or datasets that was killed, interrupted or ran out of space goes on when it is called again with
    the same arguments and unchanged files; one with other arguments clears its left-overs away.

    Args:
        corpora: Files, folders, 'hf:NAME' (see read_corpus) or passages.
        out: Folder of the index: new, empty, or one that holds an index.
        encoder: An encoder, or what load_encoder() takes.
        kind: 'exact', 'hnsw', or 'auto': exact below 20,000 passages.
        source: Source of passages that state none.
        licence: Licence of passages that state none; see Reading.
        fields: Key of a row by part of a passage, for rows with other keys than ours: {'text': 'body'}.
        skip_bad: Leave out rows that cannot be used and count them in the manifest, rather than stop at the first.
        duplicates: 'keep' all passages, or leave out 'exact' repeats, or those and 'near' ones; see dedupe.
        batch_size: Passages read and encoded at a time.
        progress: See Progress.
        notice: Told of what a reader should know: an earlier build continued, rows skipped, licences unknown.

    Raises:
        ContentError: a broken corpus, two passages of one id, or no passage at all.
        PassageIndexError: `out` holds something else, another build is writing there, or the disk is full.
        MissingDependency: faiss, bm25s or the encoder's package is not installed.
    """
    if kind not in KINDS:
        raise ConfigError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    plan = _plan(corpora, encoder, source, licence, fields, skip_bad, duplicates, batch_size, kind=kind)
    return _make(Path(out), plan, progress, notice)


def add_passages(
    corpora: Iterable[Corpus],
    index: Path | str,
    encoder: str | Path | Encoder | None = None,
    *,
    source: str | None = None,
    licence: str | None = None,
    fields: Mapping[str, str] | None = None,
    skip_bad: bool = False,
    duplicates: str = "near",
    batch_size: int = 1024,
    progress: Progress | None = None,
    notice: Notice | None = None,
) -> Manifest:
    """Add passages to an index; those already there keep their vectors and their place.

    The dense index takes the new vectors in. The lexical index is made anew from the stored texts, since the weight of
    a word depends on all passages. Readers see the old index until the new one is whole, and a killed call goes on as
    build_index() does.

    Args:
        corpora: As in build_index(); passages that repeat one of the index count as duplicates.
        index: Folder of an index.
        encoder: The encoder the index was built with; loaded by its name when None.
        source: As in build_index().
        licence: As in build_index().
        fields: As in build_index().
        skip_bad: As in build_index().
        duplicates: As in build_index().
        batch_size: As in build_index().
        progress: See Progress.
        notice: As in build_index().

    Raises:
        ContentError: a broken corpus, or an id that another passage has.
        PassageIndexError: no index there, a damaged one, one of another encoder, another build, or a full disk.
    """
    index = Path(index)
    base = Base(folder=index, manifest=read_manifest(index))
    plan = _plan(
        corpora, base.manifest.encoder if encoder is None else encoder, source, licence, fields, skip_bad, duplicates, batch_size,
        kind=base.manifest.parameters["kind"], base=base,
    )  # fmt: skip
    return _make(index, plan, progress, notice)


def _plan(
    corpora: Iterable[Corpus],
    encoder: str | Path | Encoder,
    source: str | None,
    licence: str | None,
    fields: Mapping[str, str] | None,
    skip_bad: bool,
    duplicates: str,
    batch_size: int,
    *,
    kind: str,
    base: Base | None = None,
) -> Plan:
    if batch_size < 1:
        raise ConfigError(f"batch_size must be at least 1, got {batch_size}")
    if duplicates not in MODES:
        raise ConfigError(f"duplicates must be one of {', '.join(MODES)}, got {duplicates!r}")
    import_faiss()
    import_bm25s()
    reading = Reading(source=source, licence=licence, fields=dict(fields or {}), skip_bad=skip_bad)
    parts = corpus_parts(corpora, reading)
    if not parts:
        raise ContentError("no corpus given; give files, folders or hf:NAME to --corpus")
    return Plan(
        parts=parts, reading=reading, encoder=load_encoder(encoder), kind=kind, duplicates=duplicates,
        batch_size=batch_size, base=base,
    )  # fmt: skip


def _make(out: Path, plan: Plan, progress: Progress | None, notice: Notice | None) -> Manifest:
    report = progress or (lambda stage, done, total: None)
    tell = notice or (lambda text: None)
    with workshop(out, _identity(plan), tell) as folder:
        manifest = Stages(plan, folder, report, tell).run()
        if manifest is not plan.base_manifest:
            publish(out, folder, manifest)
    return manifest


def _identity(plan: Plan) -> str | None:
    """Return what is equal for builds that make the same index, or None when passages come from memory."""
    identities = [part.identity for part in plan.parts]
    if any(identity is None for identity in identities):
        return None
    base = None if plan.base is None else file_checksum(plan.base.folder / MANIFEST)
    settings = [
        plan.encoder.fingerprint,
        plan.kind,
        plan.duplicates,
        plan.batch_size,
        repr(plan.reading),
        base,
        identities,
    ]
    return blake2b(json.dumps(settings).encode(), digest_size=8).hexdigest()
