"""Streams the needed columns of a table out of a CSV file, gzipped or not, and says in which line it is broken."""

import csv
import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from healthgym.errors import ConfigError
from healthgym.evaluation.ehr.schema import ColumnType, Schema, Table

Cell = str | int | float | None
Wanted = Callable[[str], bool]
"""Says whether the rows of this owner are read."""


def find_tables(folder: Path, schema: Schema) -> dict[str, Path]:
    """Return the file of every table: `name.csv` or `name.csv.gz`, in any case.

    Raises:
        ConfigError: The folder is missing, is of the other database, lacks a table, or holds one twice.
    """
    if not folder.is_dir():
        raise ConfigError(f"No folder {folder}. {schema.how_to_get}")
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        lower = path.name.lower()
        if lower.endswith((".csv", ".csv.gz")):
            found.setdefault(lower.split(".csv")[0], []).append(path)
    other, remedy = schema.other
    first = schema.roster[0]
    if first not in found and other in found:
        raise ConfigError(f"{folder} holds {found[other][0].name}, which {schema.title} does not have: {remedy}")
    missing = [name for name in schema.tables if name not in found]
    if missing:
        raise ConfigError(
            f"{folder} lacks {', '.join(f'{name}.csv[.gz]' for name in missing)} of {schema.title}. {schema.how_to_get}"
        )
    for name in schema.tables:
        if len(found[name]) > 1:
            names = " and ".join(path.name for path in found[name])
            raise ConfigError(f"{folder}: {names} are the same table; keep one of them")
    return {name: found[name][0] for name in schema.tables}


def read_rows(path: Path, table: Table, wanted: Wanted | None = None) -> Iterator[tuple[Cell, ...]]:
    """Yield the rows of a table, its columns in the schema's order; empty fields are None. One row is held at a time.

    Raises:
        ConfigError: A column is missing, a line has too few or too many fields, a value has the wrong type, or the file
            cannot be read; names file and line.
    """
    with _opened(path) as file:
        reader = csv.reader(file, strict=True)
        header = next(reader, None)
        if header is None:
            raise ConfigError(f"{path} is empty: not even a header. Fetch the file again")
        places = _places(path, table, header)
        width = len(header)
        owner = places[list(table.columns).index(table.owner)] if table.owner else -1
        cells = list(zip(table.columns, places, (_READ[kind] for kind in table.columns.values()), strict=True))
        for row in reader:
            if len(row) != width:
                if not row:
                    continue
                raise ConfigError(
                    f"{path}, line {reader.line_num}: {len(row)} fields where the header has {width}; the file is cut or "
                    "was edited. Fetch it again"
                )
            if owner >= 0 and wanted is not None and not wanted(row[owner]):
                continue
            try:
                yield tuple([read(row[place]) if row[place] else None for _, place, read in cells])
            except ValueError:
                raise ConfigError(_bad_cell(path, reader.line_num, table, row, places)) from None


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    """Open a file as text; what makes it unreadable becomes a ConfigError that names it."""
    try:
        if path.name.lower().endswith(".gz"):
            with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as file:
                yield file  # type: ignore[misc]
        else:
            with path.open(encoding="utf-8-sig", newline="") as plain:
                yield plain
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ConfigError(f"{path} cannot be unpacked ({error}): the file is cut or damaged. Fetch it again") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text ({error.reason}). Fetch it again, or convert it") from None
    except csv.Error as error:
        raise ConfigError(f"{path} is not valid CSV ({error}). Fetch it again") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from None


def _places(path: Path, table: Table, header: Sequence[str]) -> list[int]:
    names = [name.strip().lower() for name in header]
    missing = [column for column in table.columns if column not in names]
    if missing:
        raise ConfigError(
            f"{path} lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}; its header is "
            f"{', '.join(names[:40])}. Was another version of the database given?"
        )
    return [names.index(column) for column in table.columns]


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        number = float(text)
        if not number.is_integer():
            raise ValueError(text) from None
        return int(number)


def _time(text: str) -> str:
    if len(text) != 19 or text[4] != "-" or text[10] != " " or text[13] != ":":
        raise ValueError(text)
    return text


def _number(text: str) -> float:
    number = float(text)
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError(text)
    return number


_READ: dict[ColumnType, Callable[[str], Cell]] = {"integer": _integer, "number": _number, "text": str, "time": _time}
_EXPECTED = {"integer": "a whole number", "number": "a number", "time": "a time as YYYY-MM-DD HH:MM:SS", "text": "text"}


def _bad_cell(path: Path, line: int, table: Table, row: Sequence[str], places: Sequence[int]) -> str:
    for (column, kind), place in zip(table.columns.items(), places, strict=True):
        try:
            if row[place]:
                _READ[kind](row[place])
        except ValueError:
            return f"{path}, line {line}: {column} must be {_EXPECTED[kind]}, got {row[place][:60]!r}"
    return f"{path}, line {line}: a value cannot be read"
