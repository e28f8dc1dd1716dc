"""A template: one question asked of many stays, with the definition that leaves one right answer and its query."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from healthgym.content import read_yaml
from healthgym.errors import ContentError, nearest
from healthgym.evaluation.ehr.answers import Kind
from healthgym.evaluation.ehr.cohort import place_of
from healthgym.evaluation.ehr.schema import Schema, load_schema

TIME_FORMAT = "%Y-%m-%d %H:%M:%S"
_KINDS = ("number", "count", "score", "time", "yes_no", "code", "category")
_KEYS = {"kind", "unit", "tolerance", "units", "hours", "lists", "source", "question", "sql"}


@dataclass(frozen=True, kw_only=True)
class Template:
    """One question, as `templates/<name>.yaml` states it.

    units: name of the schema's query that lists what is asked about.
    question, sql: formatted with the unit's columns, the window and the lists.
    hours: lengths of the window; one is drawn for each unit.
    lists: item ids or names that question and query share.
    source: of a clinical definition.
    """

    name: str
    database: str
    kind: Kind
    question: str
    sql: str
    units: str
    unit: str = ""
    tolerance: float = 0.0
    hours: tuple[int, ...] = ()
    lists: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A template put to one unit.

    unit: stay or admission id.
    fields: the unit's columns and the window, plain values: what a check computes from.
    """

    template: Template
    unit: str
    owner: str
    fields: Mapping[str, Any]

    @property
    def question(self) -> str:
        """The question as it is put."""
        return self.template.question.format(**_written(self))

    @property
    def sql(self) -> str:
        """The query that answers it: one row, one column; NULL or no row where nothing was measured."""
        return self.template.sql.format(**_written(self))


@lru_cache(maxsize=4)
def load_templates(database: str) -> Mapping[str, Template]:
    """Return the templates of a database by name, sorted.

    Raises:
        ContentError: A file lacks a key, or has an unknown one; names the file.
    """
    schema = load_schema(database)
    files = sorted((schema.folder / "templates").glob("*.yaml"))
    return {path.stem: _template(path, schema) for path in files}


def _template(path: Path, schema: Schema) -> Template:
    content = read_yaml(path)
    for key in content:
        if key not in _KEYS:
            raise ContentError(f"{path}: unknown key {key!r}.{nearest(key, _KEYS)}")
    for key in ("kind", "units", "question", "sql"):
        if key not in content:
            raise ContentError(f"{path}: key {key!r} is missing")
    if content["kind"] not in _KINDS:
        raise ContentError(f"{path}: no kind {content['kind']!r}.{nearest(content['kind'], _KINDS)}")
    if content["units"] not in schema.units:
        raise ContentError(f"{path}: no units {content['units']!r}.{nearest(content['units'], schema.units)}")
    if content["kind"] == "number" and not (content.get("unit") and content.get("tolerance", 0) > 0):
        raise ContentError(f"{path}: a number needs a unit and a tolerance above 0")
    return Template(
        name=path.stem,
        database=schema.name,
        kind=content["kind"],
        question=" ".join(content["question"].split()),
        sql=content["sql"].strip(),
        units=content["units"],
        unit=content.get("unit", ""),
        tolerance=float(content.get("tolerance", 0.0)),
        hours=tuple(content.get("hours", ())),
        lists={name: tuple(values) for name, values in content.get("lists", {}).items()},
        source=" ".join(content.get("source", "").split()),
    )


def ask_of(template: Template, columns: Mapping[str, Any], seed: int) -> Asked:
    """Put a template to one row of its units; the window's length is drawn from the seed and the unit alone."""
    fields = {name: value for name, value in columns.items() if name not in ("unit", "owner")}
    unit = str(columns["unit"])
    if template.hours:
        drawn = int(place_of("hours", seed, template.name, unit) * len(template.hours))
        hours = template.hours[drawn]
        fields["hours"] = hours
        fields["minutes"] = hours * 60
        if "intime" in fields:
            end = datetime.strptime(fields["intime"], TIME_FORMAT) + timedelta(hours=hours)
            fields["end"] = end.strftime(TIME_FORMAT)
    return Asked(template=template, unit=unit, owner=str(columns["owner"]), fields=fields)


def _written(asked: Asked) -> dict[str, Any]:
    lists = {name: ", ".join(map(_literal, values)) for name, values in asked.template.lists.items()}
    return {**asked.fields, **lists}


def _literal(value: Any) -> str:
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"
