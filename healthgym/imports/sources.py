"""The files an import reads: found, unpacked, hashed, and parsed with file and line of what is wrong."""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from healthgym.errors import ContentError
from healthgym.files import read_json

SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv")
MAX_BYTES = 512 * 1024 * 1024
"""Most bytes of one file after unpacking."""


@dataclass(frozen=True)
class Source:
    """One file as read: its text, and what pins it."""

    path: Path
    sha256: str
    """Of the bytes on disk, packed or not."""
    size_bytes: int
    text: str

    def stamp(self) -> dict[str, Any]:
        """Return what an import keeps of the file."""
        return {"file": self.path.name, "bytes": self.size_bytes, "sha256": self.sha256}


def find_files(path: Path) -> list[Path]:
    """Return the file, or the readable files of a folder by name. Raises ContentError when there are none."""
    if path.is_file():
        return [path]
    if not path.exists():
        raise ContentError(f"{path}: there is no such file or folder; give the file or folder to import")
    found = sorted(
        each for each in path.iterdir() if each.is_file() and kind_of(each) and not each.name.startswith(".")
    )
    if not found:
        raise ContentError(f"{path}: no file to import; expected {', '.join(SUFFIXES)}, each also as .gz")
    return found


def kind_of(path: Path) -> str:
    """Return a file's ending without .gz, or '' for one that no import reads."""
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    return suffix if suffix in SUFFIXES else ""


def read_source(path: Path) -> Source:
    """Read one file whole. Raises ContentError when it is damaged, too large or not UTF-8."""
    raw = path.read_bytes()
    data = raw
    if raw[:2] == b"\x1f\x8b":
        try:
            with gzip.open(io.BytesIO(raw)) as packed:
                data = packed.read(MAX_BYTES + 1)
        except (EOFError, OSError, zlib.error) as error:
            raise ContentError(f"{path}: the gzip file is cut short or damaged ({error}); fetch it again") from None
    if len(data) > MAX_BYTES:
        raise ContentError(f"{path}: more than {MAX_BYTES // 2**20} MiB unpacked; split the file and import the parts")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ContentError(f"{path}: byte {error.start} is not UTF-8; convert the file to UTF-8") from None
    if not text.strip():
        raise ContentError(f"{path}: the file is empty")
    return Source(path, sha256(raw).hexdigest(), len(raw), text)


def parse_json(source: Source) -> Any:
    """Return the JSON document of a file. Raises ContentError with line and column."""
    try:
        return read_json(source.text)
    except json.JSONDecodeError as error:
        raise ContentError(
            f"{source.path}, line {error.lineno}: not valid JSON at column {error.colno}: {error.msg}"
        ) from None
    except ValueError as error:
        raise ContentError(f"{source.path}: not valid JSON: {error}") from None


def entries(source: Source) -> Iterator[tuple[str, Any]]:
    """Yield (place, value) of a list, of JSON lines, or of one object; a broken line yields its error as the value."""
    start = source.text.lstrip()[:1]
    if start == "[":
        yield from ((f"{source.path.name}, entry {n}", item) for n, item in enumerate(parse_json(source), 1))
        return
    lines = [(n, line) for n, line in enumerate(source.text.splitlines(), 1) if line.strip()]
    if start == "{" and not _is_whole(lines[0][1]):
        yield source.path.name, parse_json(source)
        return
    for number, line in lines:
        try:
            value = read_json(line)
        except ValueError as error:
            value = ContentError(f"not valid JSON ({error})")
        yield f"{source.path.name}, line {number}", value


def _is_whole(line: str) -> bool:
    try:
        read_json(line)
    except ValueError:
        return False
    return True


def rows(source: Source) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (place, row) of a CSV file with a header line."""
    csv.field_size_limit(MAX_BYTES)
    reader = csv.DictReader(io.StringIO(source.text, newline=""))
    try:
        for row in reader:
            yield f"{source.path.name}, line {reader.line_num}", row
    except csv.Error as error:
        raise ContentError(f"{source.path}, line {reader.line_num}: no CSV ({error})") from None
