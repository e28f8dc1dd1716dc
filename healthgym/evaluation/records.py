"""Tables of a dataset from a file, a folder of parquet files or the hub, with columns found under their usual names."""

import io
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError
from healthgym.evaluation.benchmark import Source
from healthgym.evaluation.columnar import hub_rows, parquet_rows
from healthgym.evaluation.question_files import KINDS, READERS, kind_of, records_of
from healthgym.evaluation.spreadsheet import read_sheet

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
    """Return the records of a file as `records_of` reads it, of an .xlsx or .pkl file, or of a folder of parquet files.

    A pickle may hold nothing but plain values: it runs no code. Rows of parquet files stay packed until they are asked for.

    Raises:
        ConfigError: The file is missing, of another kind, or cannot be read as what its name says.
    """
    kind = kind_of(path)
    if path.is_dir():
        return Table(str(path), parquet_rows(sorted(path.rglob("*.parquet")), path))
    if kind == ".parquet" and path.is_file():
        return Table(str(path), parquet_rows([path], path))
    if kind in OTHERS and path.is_file():
        return Table(str(path), OTHERS[kind](path))
    if kind and path.is_file() and kind not in READERS:
        raise ConfigError(f"{path}: no way to read {kind}. Known: {', '.join((*KINDS, *OTHERS))}")
    return Table(str(path), [record.values for record in records_of(path)])


class _PlainUnpickler(pickle.Unpickler):
    """Unpickles plain values alone: a pickle that names any class or function is refused before it runs."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        raise pickle.UnpicklingError(
            f"it names {module_name}.{global_name}; only lists, objects, texts and numbers are read"
        )


def _pickle(path: Path) -> list[Record]:
    try:
        data = _PlainUnpickler(io.BytesIO(path.read_bytes())).load()
    except (EOFError, ValueError, pickle.UnpicklingError) as error:
        raise ConfigError(f"{path} cannot be read as a pickle: {error}") from error
    if not isinstance(data, list) or not all(isinstance(record, Mapping) for record in data):
        raise ConfigError(f"{path}: expected a list of objects")
    return data


OTHERS: Mapping[str, Callable[[Path], list[Any]]] = {".xlsx": read_sheet, ".pkl": _pickle}
"""Readers of kinds beside those of `records_of`."""


def hub_table(name: str, split: str, *, how: str) -> Table:
    """Return one split of a hub dataset, images packed; see `hub_rows`."""
    return Table(f"{name}:{split}", hub_rows(name, split, how=how))
