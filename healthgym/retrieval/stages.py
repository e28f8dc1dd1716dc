"""The stages of a build: read, drop duplicates, encode, dense index, lexical index, check. Each can be taken up again."""

import json
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from healthgym.errors import ContentError
from healthgym.retrieval.corpora import Part
from healthgym.retrieval.dedupe import SIGNATURE, Signer, find_duplicates
from healthgym.retrieval.dense import BUILD_BREADTH, EXACT_BELOW, LINKS, build_faiss, import_faiss
from healthgym.retrieval.encoders import Encoder
from healthgym.retrieval.growth import Base
from healthgym.retrieval.journal import STAGES, Journal
from healthgym.retrieval.lexical import K1, B, LexicalBuilder
from healthgym.retrieval.lines import Lines, appending, damaged, passage_of, save_array
from healthgym.retrieval.manifest import MANIFEST, Manifest, describe_files, read_manifest
from healthgym.retrieval.passages import Passage
from healthgym.retrieval.rows import UNKNOWN_LICENCE, Reading
from healthgym.retrieval.store import DATES, IDS, LINES, OFFSETS, ORIGINS, StoreTables
from healthgym.retrieval.vector_file import VectorFile
from healthgym.retrieval.workshop import DATA, Notice, new_data_name

Progress = Callable[[str, int, int | None], None]
"""Called with the stage ('read', 'dedupe', 'encode', 'dense', 'lexical', 'check'), passages done, and how many there are
if known."""

DENSE, LEXICAL = "dense.faiss", "lexical"
DUPLICATES = "duplicates.jsonl"
"""Ids of passages left out, with the passage each repeats."""

RAW, SIGNATURES, VECTORS = "read.jsonl", "signatures", "vectors.f32"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to build."""

    parts: Sequence[Part]
    reading: Reading
    encoder: Encoder
    kind: str
    """'exact', 'hnsw' or 'auto'."""

    duplicates: str
    batch_size: int
    base: Base | None = None
    """The index to add to; None for a new one."""

    @property
    def base_manifest(self) -> Manifest | None:
        """Manifest of the index to add to."""
        return self.base.manifest if self.base else None


class Stages:
    """Takes one build from where its journal stands to a whole data folder.

    In memory at a time: one batch of passages; per passage read 8 bytes of offsets, 56 of signatures while duplicates
    are looked for, and 28 of tables; then the dense index; then the words of the lexical index, one after the other.
    """

    def __init__(self, plan: Plan, folder: Path, report: Progress, notice: Notice) -> None:
        self.plan, self.folder, self.data = plan, folder, folder / DATA
        self.report, self.notice = report, notice
        self.journal = Journal.load(folder)
        if not self.journal.is_new:
            notice(
                f"an unfinished build goes on at stage {self.journal.stage}: {self.journal.passages:,} passages read, "
                f"{self.journal.encoded:,} encoded"
            )
        if plan.base is not None:
            plan.base.check(plan.encoder)

    def run(self) -> Manifest:
        """Run the stages that are left and return the manifest of the data folder, or of the base if nothing is new."""
        stages = {
            "read": self._read, "dedupe": self._dedupe, "encode": self._encode, "dense": self._dense,
            "lexical": self._lexical, "check": self._check,
        }  # fmt: skip
        for stage, following in pairwise(STAGES):
            if stage != self.journal.stage:
                continue
            stages[stage]()
            self.journal.stage = following
            self.journal.save(self.folder)
            if self.plan.base and following == "encode" and self.journal.kept == self._base_count:
                self.notice("every passage is in the index already; it stays as it is")
                return self.plan.base.manifest
        return read_manifest(self.folder)

    def _read(self) -> None:
        """Write the passages of all parts to a file, and their signatures to another."""
        journal, signer = self.journal, Signer()
        signed = 0 if self.plan.duplicates == "keep" else journal.passages * SIGNATURE.itemsize
        with (
            appending(self.folder / RAW, journal.bytes) as lines,
            appending(self.folder / SIGNATURES, signed) as signatures,
        ):
            for batch in self._batches():
                for passage in batch:
                    journal.bytes += lines.write(passage.to_json().encode() + b"\n")
                if self.plan.duplicates != "keep":
                    signatures.write(signer.sign(batch).tobytes())
                journal.passages += len(batch)
                lines.flush()
                signatures.flush()
                journal.save(self.folder)
                self.report("read", journal.passages, None)
        if journal.skipped:
            self.notice(f"{journal.skipped:,} rows were skipped; the first: {'; '.join(journal.examples)}")
        if not journal.passages:
            raise ContentError("the corpora hold no passage; give files or folders of passages or text to --corpus")

    def _batches(self) -> Iterator[list[Passage]]:
        """Yield batches of whole rows from where the journal stands, moving it on."""
        journal, batch = self.journal, []
        for number, part in enumerate(self.plan.parts[journal.part :], start=journal.part):
            for row in part.rows(journal.rows):
                journal.rows += 1
                if isinstance(row, ContentError):
                    if not self.plan.reading.skip_bad:
                        raise row
                    journal.skip(str(row))
                    continue
                journal.cut += len(row) > 1
                batch += row
                if len(batch) >= self.plan.batch_size:
                    yield batch
                    batch = []
            journal.part, journal.rows = number + 1, 0
        if batch:
            yield batch

    def _dedupe(self) -> None:
        """Write the passages that stay, with their offsets, ids, origins and dates."""
        raw = Lines(self.folder / RAW)
        self._check_count(len(raw), self.journal.passages)
        repeats = self._find_repeats(raw)
        tables, offsets = StoreTables(), array("Q", [0])
        total = self._base_count + len(raw) - len(repeats)
        with (self.data / LINES).open("wb") as lines:
            for line in chain(self.plan.base.lines().since(0) if self.plan.base else (), raw.since(0, repeats)):
                tables.add(passage_of(line))
                offsets.append(offsets[-1] + lines.write(line))
                done = len(offsets) - 1
                if done % self.plan.batch_size == 0 or done == total:
                    self.report("dedupe", done, total)
        self._write_tables(tables, np.frombuffer(offsets, dtype=np.uint64))

    def _find_repeats(self, raw: Lines) -> dict[int, tuple[int, str]]:
        """Return the duplicates among the passages read, by position there, and list them in a file."""
        if self.plan.duplicates == "keep":
            return {}
        count, base = self._base_count, self.plan.base
        signatures = np.fromfile(self.folder / SIGNATURES, dtype=SIGNATURE)
        self._check_count(len(signatures), len(raw))
        if base:
            signatures = np.concatenate([*base.signatures(Signer(), self.plan.batch_size), signatures])
        old = base.lines() if base else raw

        def passage_at(position: int) -> Passage:
            return old[position] if position < count else raw[position - count]

        found = find_duplicates(signatures, passage_at, self.plan.duplicates)
        repeats = {position - count: value for position, value in found.items() if position >= count}
        with (self.data / DUPLICATES).open("w", encoding="utf-8") as stream:
            for position, (earlier, kind) in sorted(repeats.items()):
                row = {"id": raw[position].id, "repeats": passage_at(earlier).id, "kind": kind}
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
        kinds = [kind for _, kind in repeats.values()]
        self.journal.duplicates = {kind: kinds.count(kind) for kind in ("exact", "near")}
        return repeats

    def _write_tables(self, tables: StoreTables, offsets: np.ndarray) -> None:
        save_array(self.data / OFFSETS, offsets)
        save_array(self.data / ORIGINS, tables.origin_table())
        save_array(self.data / DATES, tables.date_table())
        save_array(self.data / IDS, tables.id_table(Lines(self.data / LINES, offsets).__getitem__))
        self.journal.sources, self.journal.licences = tables.counts()
        self.journal.kept = len(offsets) - 1
        if unknown := self.journal.licences.get(UNKNOWN_LICENCE):
            self.notice(f"{unknown:,} passages are under an unknown licence ({UNKNOWN_LICENCE}); --licence names it")

    def _encode(self) -> None:
        """Write the vectors of new passages to a file, float32."""
        for name in (RAW, SIGNATURES):
            (self.folder / name).unlink(missing_ok=True)
        journal, encoder = self.journal, self.plan.encoder
        total = journal.kept - self._base_count
        texts = (passage_of(line).full_text for line in self._lines().since(self._base_count + journal.encoded))
        with appending(self.folder / VECTORS, journal.encoded * encoder.dimension * 4) as vectors:
            while batch := list(islice(texts, self.plan.batch_size)):
                vectors.write(np.ascontiguousarray(encoder.encode(batch), dtype=np.float32).tobytes())
                vectors.flush()
                journal.encoded += len(batch)
                journal.save(self.folder)
                self.report("encode", journal.encoded, total)

    def _dense(self) -> None:
        """Build the dense index, or add the new vectors to that of the base."""
        faiss, total = import_faiss(), self.journal.kept
        kind = self.plan.kind if self.plan.kind != "auto" else ("exact" if total < EXACT_BELOW else "hnsw")
        vectors = VectorFile(self.folder / VECTORS, self.plan.encoder.dimension)
        self._check_count(len(vectors), self.journal.encoded)

        def report(done: int) -> None:
            self.report("dense", done, total)

        if self.plan.base is None:
            index = build_faiss([vectors], kind, report)
        else:
            index, kind = self.plan.base.grown(DENSE, vectors, kind, report)
        self.journal.index = kind
        faiss.write_index(index, str(self.data / DENSE))

    def _lexical(self) -> None:
        """Build the lexical index from the stored texts."""
        (self.folder / VECTORS).unlink(missing_ok=True)
        lexical, done = LexicalBuilder(self.folder), 0
        texts = (passage_of(line).lexical_text for line in self._lines().since(0))
        while batch := list(islice(texts, self.plan.batch_size)):
            lexical.add(batch)
            done += len(batch)
            self.report("lexical", done, self.journal.kept)
        lexical.save(self.data / LEXICAL)

    def _check(self) -> None:
        """Take the checksums of all files and write the manifest."""
        journal, encoder = self.journal, self.plan.encoder
        before: Mapping[str, Any] = self.plan.base.manifest.parameters if self.plan.base else {}
        earlier = before.get("duplicates", {})
        parameters = {
            "kind": self.plan.kind,
            "bm25": {"k1": K1, "b": B},
            "hnsw": {"links": LINKS, "build_breadth": BUILD_BREADTH} if journal.index == "hnsw" else None,
            "duplicates": {kind: earlier.get(kind, 0) + journal.duplicates.get(kind, 0) for kind in ("exact", "near")},
            "skipped_rows": before.get("skipped_rows", 0) + journal.skipped,
            "cut_rows": before.get("cut_rows", 0) + journal.cut,
            "corpora": [*before.get("corpora", []), *(part.name for part in self.plan.parts)],
        }
        manifest = Manifest(
            encoder=encoder.name, fingerprint=encoder.fingerprint, dimension=encoder.dimension, passages=journal.kept,
            index=journal.index, data=new_data_name(), sources=journal.sources, licences=journal.licences,
            parameters=parameters, files=describe_files(self.data),
        )  # fmt: skip
        (self.folder / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
        self.report("check", journal.kept, journal.kept)

    def _check_count(self, found: int, counted: int) -> None:
        """Raise PassageIndexError when a file holds less than the journal says, as it may after a power cut."""
        if found != counted:
            raise damaged(self.folder)

    @property
    def _base_count(self) -> int:
        return self.plan.base.manifest.passages if self.plan.base else 0

    def _lines(self) -> Lines:
        """Return the passages of the index to be."""
        lines = Lines(self.data / LINES)
        self._check_count(len(lines), self.journal.kept)
        return lines
