"""What the tables of a database look like: only these columns are read, shown and asked about."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from healthgym.content import read_yaml
from healthgym.errors import ContentError, nearest

ColumnType = Literal["integer", "number", "text", "time"]
FOLDER = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table.

    key: the column that names a row; it never repeats.
    owner: the column that says whose row it is; empty for a dictionary, which belongs to nobody.
    time: the column that a time range filters; empty where there is none.
    indexes: further columns that queries look up, alone or together.
    """

    name: str
    about: str
    key: str
    columns: Mapping[str, ColumnType]
    owner: str = ""
    time: str = ""
    indexes: tuple[tuple[str, ...], ...] = ()
    must_have_rows: bool = False


@dataclass(frozen=True, kw_only=True)
class Schema:
    """One database.

    roster: table and columns that say which owner is which patient.
    other: a table that only the other database has, and what to do when a folder holds it.
    units: by name, the query that lists what a template asks about: stays or admissions.
    guide: what an agent is told about the database.
    """

    name: str
    title: str
    tables: Mapping[str, Table]
    roster: tuple[str, str, str]
    other: tuple[str, str]
    units: Mapping[str, str]
    guide: str
    attribution: str
    how_to_get: str
    folder: Path = field(default=FOLDER)

    def table(self, name: str) -> Table:
        """Return a table by name. Raises ContentError, naming the nearest, when there is none."""
        if name not in self.tables:
            raise ContentError(f"{self.title} has no table {name!r}.{nearest(name, self.tables)}")
        return self.tables[name]


@lru_cache(maxsize=4)
def load_schema(name: str) -> Schema:
    """Return the schema in the folder of this name: mimic3 or eicu."""
    folder = FOLDER / name
    content: dict[str, Any] = read_yaml(folder / "schema.yaml")
    tables = {table: _table(table, entry, content["owner"]) for table, entry in content["tables"].items()}
    return Schema(
        name=name,
        title=content["title"],
        tables=tables,
        roster=(content["roster"]["table"], content["owner"], content["roster"]["patient"]),
        other=(content["other"]["table"], content["other"]["remedy"]),
        units=content["units"],
        guide=content["guide"].strip(),
        attribution=" ".join(content["attribution"].split()),
        how_to_get=" ".join(content["how_to_get"].split()),
        folder=folder,
    )


def _table(name: str, entry: Mapping[str, Any], owner: str) -> Table:
    columns: dict[str, ColumnType] = {}
    for column_type in ("integer", "number", "text", "time"):
        for column in entry.get(column_type, ()):
            columns[column] = column_type  # type: ignore[assignment]
    return Table(
        name=name,
        about=entry["about"],
        key=entry["key"],
        columns=columns,
        owner=owner if owner in columns else "",
        time=entry.get("by", ""),
        indexes=tuple(map(tuple, entry.get("indexes", ()))),
        must_have_rows=bool(entry.get("must_have_rows", False)),
    )
