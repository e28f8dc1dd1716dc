"""Records of a data file, each with its place, so that whatever is wrong with one can be told by file and line."""

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError, MissingDependency
from healthgym.files import read_json

KINDS = (".jsonl", ".json", ".csv", ".parquet")


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
    """Return the records of a file: .jsonl, .json (a list, or an object by key), .csv or .parquet, gzipped or not.

    Args:
        path: The file.
        columns: Names of the columns of a CSV file without a header.

    A record of a JSON object has the key in `_key`.

    Raises:
        ConfigError: The file is missing, of another kind, empty, or broken; names the line.
    """
    if not path.exists():
        raise ConfigError(f"No data at {path}. Give --data the file or folder of the benchmark's data")
    if path.is_dir():
        raise ConfigError(f"{path} is a folder; this benchmark reads one file. Give --data one of its files")
    kind = Path(path.name.removesuffix(".gz")).suffix
    if kind not in KINDS:
        raise ConfigError(f"{path}: expected a file that ends in {', '.join(KINDS)}, or one of them with .gz")
    found = _parquet(path) if kind == ".parquet" else _READERS[kind](path, _text(path), columns)
    if not found:
        raise ConfigError(f"{path} holds no records")
    return found


ON_THE_HUB = {"val": "validation"}
"""What the hub calls a split, where it is another name."""


def hub_records(name: str, config: str | None, split: str, *, get: str) -> list[Record]:
    """Return the records of a data set of the hub.

    Args:
        name: Its name on the hub.
        config: Which part of it.
        split: Which split; val is called validation there.
        get: How to get the file by hand, for the message when the hub cannot be reached.

    Raises:
        MissingDependency: The package `datasets` is not installed.
        ConfigError: The data set cannot be loaded.
    """
    try:
        import datasets
    except ImportError as error:
        raise MissingDependency.extra(f"Loading {name} from the hub", "train") from error
    try:
        rows = datasets.load_dataset(name, config, split=ON_THE_HUB.get(split, split))
    except (OSError, ValueError) as error:  # no network, no such data set, no such split
        first = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise ConfigError(
            f"{name} cannot be loaded from the hub ({first}). Get the file by hand ({get}) and give it with --data PATH"
        ) from error
    return [Record(f"{name}, row {number}", row) for number, row in enumerate(rows, 1)]


def _text(path: Path) -> str:
    data = path.read_bytes()
    try:
        return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
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
    if isinstance(content, list):
        return [
            Record(f"{path.name}, record {number}", _object(f"{path.name}, record {number}", one))
            for number, one in enumerate(content, 1)
        ]
    found = []
    for key, one in _object(path.name, content).items():
        where = f"{path.name}, key {key}"
        found.append(Record(where, {"_key": key, **(one if isinstance(one, Mapping) else {"_value": one})}))
    return found


def _csv(path: Path, text: str, columns: Sequence[str]) -> list[Record]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
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


def _parquet(path: Path) -> list[Record]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingDependency.extra(f"Reading {path.name}", "train") from error
    try:
        rows = parquet.read_table(path).to_pylist()
    except (OSError, pyarrow.ArrowException) as error:
        raise ConfigError(f"{path} is no whole Parquet file ({error}); fetch it again") from error
    return [Record(f"{path.name}, row {number}", row) for number, row in enumerate(rows, 1)]


def _parsed(where: str, text: str) -> Any:
    try:
        return read_json(text)
    except ValueError as error:
        raise ConfigError(f"{where}: no JSON ({error})") from error


def _object(where: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}: expected an object, got {type(value).__name__}")
    return value


_READERS: dict[str, Callable[[Path, str, Sequence[str]], list[Record]]] = {
    ".jsonl": _json_lines, ".json": _json, ".csv": _csv,
}  # fmt: skip


def files_in(path: Path, patterns: Sequence[str]) -> Iterator[Path]:
    """Yield the files of a folder that match any pattern, sorted, each once."""
    yield from sorted({file for pattern in patterns for file in path.glob(pattern) if file.is_file()})
