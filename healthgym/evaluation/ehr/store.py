"""The drawn patients' rows in one SQLite file: filled by streaming each table once, then only read."""

import logging
import sqlite3
import tempfile
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError
from healthgym.evaluation.ehr.cohort import draw_patients, patients_of_owners
from healthgym.evaluation.ehr.reading import find_tables, read_rows
from healthgym.evaluation.ehr.schema import Schema, Table

logger = logging.getLogger(__name__)

MAX_PATIENTS = 400
"""Most patients drawn when nothing else is said: the demos whole, some minutes' worth of the full tables."""
BATCH = 5000
_AFFINITY = {"integer": "INTEGER", "number": "REAL", "text": "TEXT", "time": "TEXT"}
KEPT_OPEN = 64
"""Patients whose own databases are kept in memory."""


class Store:
    """Rows of the drawn patients. Memory is bounded: rows live in a temporary file, which goes with the store.

    patients: the drawn patients, sorted.
    counts: rows kept, by table.
    """

    def __init__(self, schema: Schema, path: Path, patients: Mapping[str, str], counts: Mapping[str, int]) -> None:
        self.schema, self.path, self.counts = schema, path, counts
        self.owners: dict[str, list[str]] = {}
        for owner, patient in sorted(patients.items()):
            self.owners.setdefault(patient, []).append(owner)
        self.patients = sorted(self.owners)
        self.patient_of = dict(patients)
        self.connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False)
        self._dictionaries: dict[str, list[dict[str, Any]]] = {}
        self._open: OrderedDict[str, sqlite3.Connection] = OrderedDict()

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query over all drawn patients."""
        return self.connection.execute(sql).fetchall()

    def rows_of(self, patient: str, table: str) -> list[dict[str, Any]]:
        """Return one patient's rows of a table, in the order of their keys; of a dictionary all rows, read once."""
        if self.schema.table(table).owner:
            return list(self._read(patient, table))
        if table not in self._dictionaries:
            self._dictionaries[table] = list(self._read(patient, table))
        return self._dictionaries[table]

    def _read(self, patient: str, table: str) -> Iterator[dict[str, Any]]:
        shape = self.schema.table(table)
        columns = ", ".join(shape.columns)
        where = f"WHERE {shape.owner} IN ({_listed(self.owners[patient], shape)})" if shape.owner else ""
        for row in self.connection.execute(f"SELECT {columns} FROM {table} {where} ORDER BY {shape.key}"):
            yield dict(zip(shape.columns, row, strict=True))

    def database_of(self, patient: str) -> sqlite3.Connection:
        """Return a database in memory with this patient's rows and the dictionaries, and nothing else."""
        if patient in self._open:
            self._open.move_to_end(patient)
            return self._open[patient]
        connection = sqlite3.connect(":memory:", uri=True, check_same_thread=False, isolation_level=None)
        connection.execute("ATTACH ? AS store", (f"{self.path.as_uri()}?mode=ro",))
        for table in self.schema.tables.values():
            connection.execute(f"CREATE TABLE main.{_definition(table)}")
            where = f"WHERE {table.owner} IN ({_listed(self.owners[patient], table)})" if table.owner else ""
            connection.execute(f"INSERT INTO main.{table.name} SELECT * FROM store.{table.name} {where}")
            _index(connection, table, table.indexes)
        connection.execute("DETACH store")
        self._open[patient] = connection
        while len(self._open) > KEPT_OPEN:
            self._open.popitem(last=False)
        return connection


def build_store(
    folder: Path, schema: Schema, *, split: str | None = None, most: int = MAX_PATIENTS, seed: int = 0
) -> Store:
    """Read the tables in `folder` for at most `most` drawn patients.

    Raises:
        ConfigError: A table is missing, empty where it must not be, repeats a row's key, or cannot be read.
    """
    files = find_tables(folder, schema)
    roster_table, owner, patient = schema.roster
    columns = list(schema.table(roster_table).columns)
    roster = [
        (str(row[columns.index(owner)]), str(row[columns.index(patient)]))
        for row in read_rows(files[roster_table], schema.table(roster_table))
    ]
    if not roster:
        raise ConfigError(f"{files[roster_table]} has a header but no rows: there is no patient to ask about")
    chosen = draw_patients((one for _, one in roster), split=split, most=most, seed=seed)
    patients = patients_of_owners(roster, chosen)
    if not patients:
        raise ConfigError(f"No patient of {files[roster_table]} falls into the split {split!r}; leave the split out")
    home = tempfile.TemporaryDirectory(prefix="healthgym-ehr-")
    path = Path(home.name) / "tables.sqlite"
    counts = _fill(path, schema, files, patients)
    store = Store(schema, path, patients, counts)
    weakref.finalize(store, home.cleanup)
    return store


def _fill(path: Path, schema: Schema, files: Mapping[str, Path], patients: Mapping[str, str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("PRAGMA synchronous = OFF")
        for table in schema.tables.values():
            counts[table.name] = _fill_table(connection, table, files[table.name], patients)
            if table.must_have_rows and not counts[table.name]:
                raise ConfigError(f"{files[table.name]} has no row of the {len(set(patients.values()))} drawn patients")
            logger.info("%s: %d rows of %s", path.name, counts[table.name], table.name)
        connection.execute("ANALYZE")
    finally:
        connection.close()
    return counts


def _fill_table(connection: sqlite3.Connection, table: Table, file: Path, patients: Mapping[str, str]) -> int:
    connection.execute(f"CREATE TABLE {_definition(table)}")
    marks = ", ".join("?" * len(table.columns))
    rows = read_rows(file, table, patients.__contains__)
    count = 0
    while batch := list(islice(rows, BATCH)):
        connection.execute("BEGIN")
        try:
            connection.executemany(f"INSERT INTO {table.name} VALUES ({marks})", batch)
        except sqlite3.IntegrityError:
            connection.execute("ROLLBACK")
            raise ConfigError(_repeated(connection, table, file, batch)) from None
        connection.execute("COMMIT")
        count += len(batch)
    _index(connection, table, [(table.owner,), *table.indexes])
    return count


def _index(connection: sqlite3.Connection, table: Table, indexes: Iterable[tuple[str, ...]]) -> None:
    for columns in dict.fromkeys(indexes):
        if columns != (table.key,) and all(columns):
            connection.execute(f"CREATE INDEX {table.name}_{'_'.join(columns)} ON {table.name} ({', '.join(columns)})")


def _definition(table: Table) -> str:
    columns = ", ".join(
        f"{name} {_AFFINITY[kind]}{' PRIMARY KEY NOT NULL' if name == table.key else ''}"
        for name, kind in table.columns.items()
    )
    return f"{table.name} ({columns})"


def _listed(owners: Sequence[str], table: Table) -> str:
    if table.columns[table.owner] == "integer":
        return ", ".join(str(int(owner)) for owner in owners)
    return ", ".join("'" + owner.replace("'", "''") + "'" for owner in owners)


def _repeated(connection: sqlite3.Connection, table: Table, file: Path, batch: Sequence[tuple[Any, ...]]) -> str:
    """Say which key of a batch that could not be inserted stands twice or is empty."""
    place = list(table.columns).index(table.key)
    seen: set[Any] = set()
    for row in batch:
        key = row[place]
        if key is None:
            return f"{file}: a row has no {table.key}, which names it. Fetch the file again"
        known = connection.execute(f"SELECT 1 FROM {table.name} WHERE {table.key} = ?", (key,)).fetchone()
        if known or key in seen:
            break
        seen.add(key)
    return f"{file}: {table.key} {key} stands twice. Duplicate rows would be counted twice; fetch the file again"
