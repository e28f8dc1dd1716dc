"""Passages: the unit of text that is indexed, found and cited; read from and written to JSON lines."""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO, Any

from healthgym.errors import ContentError

REQUIRED = ("id", "title", "text", "source", "licence")
LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of a line of a passage file, so that a file without line breaks does not fill memory."""

DATE_KEYS = ("date", "published")
"""Keys a corpus may keep a passage's date or year under, the first one present wins."""

TITLE_WEIGHT = 3
"""How often the words of a title count in the lexical index; see docs/knowledge-base-measurements.md."""


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A short text with its origin and licence. Corpora hold at most 120 words a passage."""

    id: str
    """Unique within an index."""

    title: str
    text: str
    source: str
    """Name of the corpus, for example 'medquad'. Searches filter on it."""

    licence: str
    """SPDX identifier, or LicenseRef-... Searches filter on it."""

    section: str | None = None
    ref: str | None = None
    """Where the text comes from: a URL, a PMCID, a guideline with its year."""

    date: str | None = None
    """ISO date, or a prefix of one ('2019', '2019-05'); None when unknown."""

    def __post_init__(self) -> None:
        for name in REQUIRED:
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise ContentError(f"a passage needs a non-empty text in {name!r}, got {value!r} (id {self.id!r})")

    @property
    def full_text(self) -> str:
        """Title, section and text: what encoders read."""
        heading = self.title if not self.section else f"{self.title}. {self.section}"
        return f"{heading}. {self.text}"

    @property
    def lexical_text(self) -> str:
        """What the lexical index reads: the title counts more than the text, or passages that only mention a subject crowd
        out those that are about it."""
        return f"{self.title}. " * (TITLE_WEIGHT - 1) + self.full_text

    def to_json(self) -> str:
        """Return the passage as one line of JSON, without the line break."""
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_row(cls, row: Any, where: str = "passage") -> "Passage":
        """Build a passage from a decoded JSON row; further keys are ignored.

        Args:
            row: Mapping with id, title, text, source, licence and optionally section, ref, date or published.
            where: File and line, named in errors.

        Raises:
            ContentError: not a mapping, or a key is missing, empty or of another type.
        """
        if not isinstance(row, dict):
            raise ContentError(f"{where}: expected an object with {', '.join(REQUIRED)}; got {type(row).__name__}")
        missing = [name for name in REQUIRED if row.get(name) in (None, "")]
        if missing:
            raise ContentError(f"{where}: {', '.join(missing)} missing or empty; a passage needs {', '.join(REQUIRED)}")
        values: dict[str, Any] = {field.name: row.get(field.name) for field in fields(cls)}
        values["date"] = next((str(row[key]) for key in DATE_KEYS if row.get(key) is not None), None)
        wrong = [name for name, value in values.items() if value is not None and not isinstance(value, str)]
        if wrong:
            raise ContentError(f"{where}: {', '.join(wrong)} must be text, got {values[wrong[0]]!r}")
        broken = [name for name, value in values.items() if value is not None and not is_text(value)]
        if broken:
            raise ContentError(
                f"{where}: {', '.join(broken)} holds half a surrogate pair, which is no text; write it anew"
            )
        try:
            return cls(**values)
        except ContentError as error:
            raise ContentError(f"{where}: {error}") from error


def read_passages(path: Path | str) -> Iterator[Passage]:
    """Yield the passages of a .jsonl or .jsonl.gz file, one at a time.

    Raises:
        ContentError: the file is missing, cut short, no JSON, or a row lacks a part; names file and line.
    """
    for where, line in read_lines(path):
        yield Passage.from_row(decode_row(where, line), where)


def read_lines(path: Path | str) -> Iterator[tuple[str, bytes]]:
    """Yield 'file:line' and the bytes of each line that is not blank.

    Raises:
        ContentError: the file is missing or cut short, or a line is longer than LONGEST_LINE.
    """
    path = Path(path)
    if not path.is_file():
        raise ContentError(f"no passage file {path}: expected a .jsonl or .jsonl.gz file")
    number = 0
    try:
        with gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb") as stream:
            while line := stream.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise ContentError(
                        f"{path}:{number}: a line of more than {LONGEST_LINE:,} bytes; one passage a line"
                    )
                if line.strip():
                    yield f"{path}:{number}", line
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        remedy = "fetch or write the file again"
        raise ContentError(f"{path}: unreadable after line {number} ({error}); {remedy}") from error


def decode_row(where: str, line: bytes) -> Any:
    """Return the JSON value of a line.

    Raises:
        ContentError: no UTF-8, or no JSON; names `where`.
    """
    try:
        return json.loads(line.decode("utf-8-sig" if where.endswith(":1") else "utf-8"))
    except UnicodeDecodeError as error:
        raise ContentError(
            f"{where}: not UTF-8 (byte {line[error.start]:#04x} at column {error.start + 1}); convert the file, for example: "
            "iconv -f windows-1252 -t utf-8"
        ) from error
    except RecursionError as error:
        raise ContentError(f"{where}: JSON nested too deeply; one passage a line") from error
    except json.JSONDecodeError as error:
        raise ContentError(f"{where}: not JSON ({error.msg} at column {error.colno}); one passage a line") from error


def write_passages(passages: Iterable[Passage], path: Path | str) -> int:
    """Write passages as JSON lines (compressed when the name ends in .gz) and return how many."""
    count = 0
    with open_text(Path(path), "wt") as stream:
        for passage in passages:
            stream.write(passage.to_json() + "\n")
            count += 1
    return count


def open_text(path: Path, mode: str) -> IO[str]:
    """Open a plain or .gz text file as UTF-8 with '\\n' line ends."""
    if path.name.endswith(".gz"):
        return gzip.open(path, mode, encoding="utf-8", newline="\n")  # type: ignore[return-value]
    return path.open(mode, encoding="utf-8", newline="\n")


def is_text(value: str) -> bool:
    """Return whether a string can be written as UTF-8: half a surrogate pair cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
