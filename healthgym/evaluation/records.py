"""Records of a dataset from a file, a folder of parquet files or the hub, with columns found under their usual names."""

import csv
import gzip
import io
import pickle
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError, MissingDependency
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.spreadsheet import read_sheet
from healthgym.files import read_json

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """Records and where they came from. `where` is a file or a hub name, for messages."""

    where: str
    records: Sequence[Record]

    def columns(self) -> list[str]:
        """Return the columns of the first hundred records, in the order met."""
        found: dict[str, None] = {}
        for _, record in zip(range(100), self.records, strict=False):
            found.update(dict.fromkeys(map(str, record)))
        return list(found)

    def find(self, *names: str) -> str | None:
        """Return the column of the first of these names that is there, whatever its case and punctuation."""
        by_plain = {_plain(column): column for column in reversed(self.columns())}
        return next((by_plain[_plain(name)] for name in names if _plain(name) in by_plain), None)

    def column(self, *names: str) -> str:
        """Return what `find` returns. Raises ConfigError with the columns found when there is none."""
        found = self.find(*names)
        if found is None:
            if not len(self.records):
                raise ConfigError(f"{self.where} holds no records")
            wanted = " or ".join(repr(name) for name in names)
            raise ConfigError(f"{self.where} has no column {wanted}. Its columns: {', '.join(self.columns())}")
        return found


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", name.lower())


def text_of(record: Record, column: str | None) -> str:
    """Return a field as stripped text; empty where the column or the value is missing."""
    value = record.get(column) if column is not None else None
    return "" if value is None else str(value).strip()


def given_path(source: Source, how: str) -> Path:
    """Return the path that the user gave. Raises ConfigError with `how` to get the data where there is none."""
    if source.path is None:
        raise ConfigError(f"No data. {how}")
    return source.path


def find_file(path: Path, *patterns: str) -> Path:
    """Return the file itself, or of a folder the first file that fits the earliest pattern, however deep it lies.

    Raises:
        ConfigError: Nothing is there, or no file fits.
    """
    if not path.exists():
        raise ConfigError(f"No file or folder {path}. Give the place of the dataset with --data")
    if path.is_file():
        return path
    for pattern in patterns:
        found = min(path.rglob(pattern), default=None, key=lambda file: (len(file.parts), file))
        if found is not None:
            return found
    raise ConfigError(f"{path} holds no {' and no '.join(patterns)}. Name the dataset's file itself with --data")


def read_table(path: Path) -> Table:
    """Return the records of a .csv, .tsv, .json, .jsonl, .xlsx, .pkl or .parquet file (.gz as well), or of a folder of
    parquet files.

    JSON is a list of objects, or an object whose only list of objects is taken. A pickle may hold nothing but plain
    values: it runs no code.

    Raises:
        ConfigError: The file is missing, of another kind, or cannot be read as what its name says.
    """
    if not path.exists():
        raise ConfigError(f"No file {path}. Give --data the place of the dataset's file")
    if path.is_dir():
        return Table(str(path), parquet_records(sorted(path.rglob("*.parquet")), path))
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else (suffixes or [""])[-1]
    if kind == ".parquet":
        return Table(str(path), parquet_records([path], path))
    if kind == ".xlsx":
        return Table(str(path), read_sheet(path))
    if kind not in _READERS:
        raise ConfigError(f"{path}: no way to read {kind or 'a file without a suffix'}. Known: {', '.join(KINDS)}")
    try:
        raw = gzip.decompress(path.read_bytes()) if suffixes[-1] == ".gz" else path.read_bytes()
        records = _READERS[kind](raw)
    except (OSError, EOFError, ValueError, csv.Error, pickle.UnpicklingError) as error:
        raise ConfigError(f"{path} cannot be read as {kind} in UTF-8: {error}") from error
    wrong = next((i for i, record in enumerate(records) if not isinstance(record, Mapping)), None)
    if wrong is not None:
        raise ConfigError(
            f"{path}: record {wrong + 1} is {type(records[wrong]).__name__}, expected an object of fields"
        )
    return Table(str(path), records)


def _csv(raw: bytes, delimiter: str = ",") -> list[Any]:
    records = list(csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline=""), delimiter=delimiter))
    for number, record in enumerate(records, 1):
        if None in record:
            raise ValueError(f"record {number} has more fields than the heading; is one of its texts unquoted?")
    return records


def _json(raw: bytes) -> list[Any]:
    data = read_json(raw.decode("utf-8-sig"))
    if isinstance(data, Mapping):
        lists = [value for value in data.values() if isinstance(value, list)]
        data = lists[0] if len(lists) == 1 else data
    if not isinstance(data, list):
        raise ValueError(f"expected a list of objects, found {type(data).__name__}")
    return data


def _jsonl(raw: bytes) -> list[Any]:
    return [read_json(line) for line in raw.decode("utf-8-sig").split("\n") if line.strip()]


class _PlainUnpickler(pickle.Unpickler):
    """Unpickles plain values alone: a pickle that names any class or function is refused before it runs."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        raise pickle.UnpicklingError(
            f"it names {module_name}.{global_name}; only lists, objects, texts and numbers are read"
        )


def _pickle(raw: bytes) -> list[Any]:
    data = _PlainUnpickler(io.BytesIO(raw)).load()
    if not isinstance(data, list):
        raise ValueError(f"expected a list of objects, found {type(data).__name__}")
    return data


_READERS: Mapping[str, Callable[[bytes], list[Any]]] = {
    ".csv": _csv,
    ".tsv": lambda raw: _csv(raw, "\t"),
    ".json": _json,
    ".jsonl": _jsonl,
    ".pkl": _pickle,
}
KINDS = (*_READERS, ".xlsx", ".parquet")


class ArrowRecords(Sequence[Record]):
    """Rows of an Arrow table, made when asked for, so that images stay packed until then."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return {name: self._table.column(name)[index].as_py() for name in self._table.column_names}

    def __iter__(self) -> Iterator[Record]:
        return (self[i] for i in range(len(self)))


def parquet_records(files: Sequence[Path], given: Path) -> ArrowRecords:
    """Return the rows of parquet files one after another; `given` is what the user named. Raises ConfigError."""
    if not files:
        raise ConfigError(
            f"No .parquet file under {given}. Give --data the dataset's file, or a folder of parquet files"
        )
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingDependency.extra("Reading parquet files", "eval") from error
    try:
        return ArrowRecords(pyarrow.concat_tables([parquet.read_table(file) for file in files]))
    except (pyarrow.ArrowException, OSError) as error:
        raise ConfigError(f"{given} cannot be read as parquet: {error}") from error


def hub_table(name: str, split: str, *, how: str) -> Table:
    """Return one split of a hub dataset, images packed.

    Args:
        name: Of the dataset on the hub.
        split: Of the dataset.
        how: How to get the data otherwise, for the message.

    Raises:
        MissingDependency: `datasets` is missing.
        ConfigError: The dataset or split cannot be had.
    """
    try:
        import datasets
    except ImportError as error:
        raise MissingDependency.extra(f"Loading {name} from the hub", "eval") from error
    try:
        data = datasets.load_dataset(name, split=split)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{name} (split {split}) could not be loaded from the hub: {error}. {how}") from error
    for column, feature in data.features.items():
        if isinstance(feature, datasets.Image):
            data = data.cast_column(column, datasets.Image(decode=False))
    return Table(f"{name}:{split}", data)
