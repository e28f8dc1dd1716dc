"""Records of a data file, each with its place, so that whatever is wrong with one can be told by file and line."""

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError
from healthgym.evaluation.columnar import hub_rows, parquet_rows
from healthgym.files import read_json


@dataclass(frozen=True, slots=True)
class Record:
    """One record: its values, and where it stands, such as "test.jsonl, line 7"."""

    where: str
    values: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        """Return a value. Raises ConfigError when the record lacks it, naming what it has."""
        if name not in self.values:
            raise ConfigError(f"{self.where}: no {name!r}; the record has {', '.join(map(str, self.values))}")
        return self.values[name]

    def text(self, name: str) -> str:
        """Return a text that is not blank. Raises ConfigError otherwise."""
        value = self[name]
        if not isinstance(value, str) or not value.strip():
            raise ConfigError(f"{self.where}: {name} must be a text that is not empty, got {value!r}")
        return value


def records_of(path: Path, *, columns: Sequence[str] = ()) -> list[Record]:
    """Return the records of a file: .jsonl, .json, .csv, .tsv or .parquet, all but the last gzipped or not.

    JSON is a list of objects, an object whose only list of objects is taken, an object of records by key, which they then
    have in `_key`, or an object a line.

    Args:
        path: The file.
        columns: Names of the columns of a CSV file without a header.

    Raises:
        ConfigError: The file is missing, of another kind, empty, or broken; names the line.
    """
    if not path.exists():
        raise ConfigError(f"No data at {path}. Give --data the file or folder of the benchmark's data")
    if path.is_dir():
        raise ConfigError(f"{path} is a folder; this benchmark reads one file. Give --data one of its files")
    kind = kind_of(path)
    if kind == ".parquet":
        found = [Record(f"{path.name}, row {number}", row) for number, row in enumerate(parquet_rows([path], path), 1)]
    elif kind in READERS:
        found = READERS[kind](path, _text(path), columns)
    else:
        raise ConfigError(f"{path}: expected a file that ends in {', '.join(KINDS)}, or one of them with .gz")
    if not found:
        raise ConfigError(f"{path} holds no records")
    return found


def kind_of(path: Path) -> str:
    """Return the ending that says what a file holds, in small letters and without .gz."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def hub_records(name: str, config: str | None, split: str, *, get: str) -> list[Record]:
    """Return the records of a data set of the hub, see `hub_rows`; `get` says how to get its file by hand."""
    rows = hub_rows(name, split, how=get, config=config)
    return [Record(f"{name}, row {number}", row) for number, row in enumerate(rows, 1)]


def _text(path: Path) -> str:
    data = path.read_bytes()
    try:
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        return data.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigError(f"{path} is no whole gzip file ({error}); fetch it again") from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is not UTF-8 text: byte {error.start} is {data[error.start : error.start + 1]!r}"
        ) from error


def _json_lines(path: Path, text: str, columns: Sequence[str]) -> list[Record]:
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            where = f"{path.name}, line {number}"
            found.append(Record(where, _object(where, _parsed(where, line))))
    return found


def _json(path: Path, text: str, columns: Sequence[str]) -> list[Record]:
    if "\n" in text.strip() and text.lstrip().startswith("{"):
        first = text.lstrip().split("\n", 1)[0]
        try:  # several files named .json hold one object a line
            read_json(first)
            return _json_lines(path, text, columns)
        except ValueError:
            pass
    content = _parsed(path.name, text)
    if isinstance(content, Mapping):
        lists = [
            value for value in content.values() if isinstance(value, list) and value and isinstance(value[0], Mapping)
        ]
        content = lists[0] if len(lists) == 1 else content
    if isinstance(content, list):
        return [
            Record(f"{path.name}, record {number}", _object(f"{path.name}, record {number}", one))
            for number, one in enumerate(content, 1)
        ]
    if not isinstance(content, Mapping):
        raise ConfigError(f"{path.name}: expected a list of objects, found {type(content).__name__}")
    found = []
    for key, one in content.items():
        where = f"{path.name}, key {key}"
        found.append(Record(where, {"_key": key, **(one if isinstance(one, Mapping) else {"_value": one})}))
    return found


def _csv(path: Path, text: str, columns: Sequence[str], delimiter: str = ",") -> list[Record]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    names: list[str] = list(columns)
    found = []
    try:
        for row in reader:
            where = f"{path.name}, line {reader.line_num}"
            if not row:
                continue
            if not names:
                names = row
                continue
            if len(row) != len(names):
                raise ConfigError(f"{where}: {len(row)} fields, expected {len(names)}: {', '.join(names)}")
            found.append(Record(where, dict(zip(names, row, strict=True))))
    except csv.Error as error:
        raise ConfigError(f"{path.name}, line {reader.line_num}: no CSV ({error})") from error
    return found


def _parsed(where: str, text: str) -> Any:
    try:
        return read_json(text)
    except ValueError as error:
        raise ConfigError(f"{where}: no JSON ({error})") from error


def _object(where: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}: expected an object, got {type(value).__name__}")
    return value


READERS: dict[str, Callable[[Path, str, Sequence[str]], list[Record]]] = {
    ".jsonl": _json_lines, ".json": _json, ".csv": _csv, ".tsv": partial(_csv, delimiter="\t"),
}  # fmt: skip
KINDS = (*READERS, ".parquet")


def files_in(path: Path, patterns: Sequence[str]) -> Iterator[Path]:
    """Yield the files of a folder that match any pattern, sorted, each once."""
    yield from sorted({file for pattern in patterns for file in path.glob(pattern) if file.is_file()})
