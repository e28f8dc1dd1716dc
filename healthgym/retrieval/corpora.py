"""Corpora as parts that are read row by row from any row on, so that a build can stop and go on."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Protocol

from healthgym.errors import ContentError
from healthgym.retrieval.chunking import chunk_text, markdown_sections
from healthgym.retrieval.hub import PREFIX, HubName, dataset_rows
from healthgym.retrieval.passages import Passage, decode_row, read_lines
from healthgym.retrieval.pdf import read_pdf
from healthgym.retrieval.rows import UNKNOWN_LICENCE, Reading, cut, row_passages
from healthgym.retrieval.text_lines import check_text, text_lines

Corpus = Path | str | Iterable[Passage]
"""A file, a folder, 'hf:NAME', or passages."""

Row = list[Passage] | ContentError
"""The passages of one row, or why it cannot be used."""

PASSAGE_SUFFIXES = (".jsonl", ".jsonl.gz")
TEXT_SUFFIXES = (".txt", ".md", ".markdown")
PDF_SUFFIXES = (".pdf",)
SUFFIXES = PASSAGE_SUFFIXES + TEXT_SUFFIXES + PDF_SUFFIXES
PIECE = 256
"""Passages of a text or PDF file that are taken at a time."""


class Part(Protocol):
    """A file or dataset of a corpus."""

    @property
    def name(self) -> str:
        """How progress and errors call it."""
        ...

    @property
    def identity(self) -> list[str | int] | None:
        """Equal as long as the part holds the same; None when that cannot be told, as with passages from memory."""
        ...

    def rows(self, start: int) -> Iterator[Row]:
        """Yield the rows from number `start` on; raises ContentError when no further row can be read."""
        ...


def read_corpus(path: Path | str, *, source: str | None = None, licence: str | None = None) -> Iterator[Passage]:
    """Yield the passages of a file, of a folder with its sub-folders sorted by path, or of a dataset.

    Args:
        path: .jsonl or .jsonl.gz of passages; .txt, .md or .pdf; a folder of such files; or 'hf:NAME'.
        source: Source of passages that state none; the folder's, file's or dataset's name by default.
        licence: Licence of passages that state none. Without it passage files must state one; texts get NOASSERTION.

    Raises:
        ContentError: nothing there, no readable file, or a broken one; names file and line.
    """
    for part in corpus_parts([path], Reading(source=source, licence=licence)):
        for row in part.rows(0):
            if isinstance(row, ContentError):
                raise row
            yield from row


def corpus_parts(corpora: Iterable[Corpus], reading: Reading) -> list[Part]:
    """Return the parts of some corpora in the order they are read.

    Raises:
        ContentError: a path that is not there or holds nothing that can be read.
    """
    return [part for corpus in corpora for part in _parts(corpus, reading)]


def _parts(corpus: Corpus, reading: Reading) -> Sequence[Part]:
    if not isinstance(corpus, Path | str):
        return [Given(passages=corpus)]
    if str(corpus).startswith(PREFIX):
        return [Dataset(wanted=HubName.parse(str(corpus)), reading=reading)]
    root = Path(corpus)
    if root.is_dir():
        files = sorted(file for file in root.rglob("*") if file.is_file() and file.name.lower().endswith(SUFFIXES))
        if not files:
            raise ContentError(f"the corpus folder {root} holds no file that ends in {', '.join(SUFFIXES)}")
        return [_file(file, file.relative_to(root).as_posix(), root.name, reading) for file in files]
    if not root.is_file():
        raise ContentError(f"no corpus {root}: expected a file or folder of {', '.join(SUFFIXES)}, or {PREFIX}NAME")
    return [_file(root, root.name, root.stem, reading)]


def _file(file: Path, relative: str, source: str, reading: Reading) -> Part:
    name = file.name.lower()
    if not name.endswith(SUFFIXES):
        raise ContentError(f"cannot read {file} as a corpus: expected a name that ends in {', '.join(SUFFIXES)}")
    if name.endswith(PASSAGE_SUFFIXES):
        return PassageFile(path=file, reading=reading)
    return Document(path=file, relative=relative, reading=replace(reading, source=reading.source or source))


@dataclass(frozen=True, kw_only=True)
class Given:
    """Passages from memory."""

    passages: Iterable[Passage]
    name: str = "passages"
    identity: None = None

    def rows(self, start: int) -> Iterator[Row]:
        """See Part."""
        return (cut(passage) for passage in islice(self.passages, start, None))


@dataclass(frozen=True, kw_only=True)
class PassageFile:
    """A .jsonl or .jsonl.gz file, a row a line."""

    path: Path
    reading: Reading

    @property
    def name(self) -> str:
        """See Part."""
        return self.path.name

    @property
    def identity(self) -> list[str | int]:
        """See Part."""
        return _file_identity(self.path)

    def rows(self, start: int) -> Iterator[Row]:
        """See Part."""
        defaults = {"source": self.reading.source, "licence": self.reading.licence}
        for where, line in islice(read_lines(self.path), start, None):
            try:
                yield row_passages(decode_row(where, line), where, self.reading, defaults)
            except ContentError as error:
                yield error


@dataclass(frozen=True, kw_only=True)
class Document:
    """A text, Markdown or PDF file; a row is a piece of it, of 256 passages at most."""

    path: Path
    relative: str
    """Names the file in the ids and references of its passages."""

    reading: Reading

    @property
    def name(self) -> str:
        """See Part."""
        return self.relative

    @property
    def identity(self) -> list[str | int]:
        """See Part. What a row is belongs to it: a build that goes on skips rows by number."""
        return [*_file_identity(self.path), self.relative, PIECE]

    def rows(self, start: int) -> Iterator[Row]:
        """See Part."""
        try:
            passages = self._pdf() if self.path.name.lower().endswith(PDF_SUFFIXES) else self._text()
            yield from islice(iter(lambda: list(islice(passages, PIECE)), []), start, None)
        except ContentError as error:
            yield error

    def _text(self) -> Iterator[Passage]:
        check_text(self.path)  # first of all: a file that is broken at its end adds no passage
        is_plain = self.path.suffix.lower() == ".txt"
        title = None if is_plain else next((each for each, _ in markdown_sections(text_lines(self.path)) if each), None)
        lines, number = text_lines(self.path), 0
        for section, body in [(None, lines)] if is_plain else markdown_sections(lines):
            for chunk in chunk_text(body):
                yield self._passage(
                    number, title or self._stem, chunk, self.relative, section if section != title else None
                )
                number += 1

    def _pdf(self) -> Iterator[Passage]:
        title, pages = read_pdf(self.path)
        ends = [0]
        for text in pages:
            ends.append(ends[-1] + len(text.split()))
        page, done = 0, 0
        for number, chunk in enumerate(chunk_text("\n".join(pages))):
            while page + 1 < len(pages) and ends[page + 1] <= done:
                page += 1
            yield self._passage(number, title or self._stem, chunk, f"{self.relative} p. {page + 1}")
            done += len(chunk.split())

    @property
    def _stem(self) -> str:
        return self.path.stem.replace("_", " ")

    def _passage(self, number: int, title: str, text: str, ref: str, section: str | None = None) -> Passage:
        source = self.reading.source or self.path.stem
        return Passage(
            id=f"{source}:{self.relative}#{number}", title=title, section=section, text=text, source=source,
            licence=self.reading.licence or UNKNOWN_LICENCE, ref=ref,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A Hugging Face dataset."""

    wanted: HubName
    reading: Reading

    @property
    def name(self) -> str:
        """See Part."""
        return f"{PREFIX}{self.wanted.name}"

    @property
    def identity(self) -> list[str | int]:
        """See Part. A dataset of the hub is taken to be the same as long as name and revision are."""
        folder = Path(self.wanted.name)
        files = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
        return [repr(self.wanted), *(item for file in files for item in _file_identity(file))]

    def rows(self, start: int) -> Iterator[Row]:
        """See Part."""
        source = self.reading.source or self.wanted.source
        for number, row in enumerate(dataset_rows(self.wanted, start), start=start):
            where = f"{self.name} row {number}"
            defaults = {
                "id": f"{source}#{number}", "title": source, "source": source,
                "licence": self.reading.licence or UNKNOWN_LICENCE,
            }  # fmt: skip
            try:
                yield row_passages(row, where, self.reading, defaults)
            except ContentError as error:
                yield error


def _file_identity(path: Path) -> list[str | int]:
    status = path.stat()
    return [str(path.resolve()), status.st_size, status.st_mtime_ns]
