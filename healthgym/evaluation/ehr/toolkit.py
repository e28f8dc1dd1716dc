"""The tools: look at the tables, query them, run SQL that only reads, submit one typed answer."""

import sqlite3
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field

from healthgym.errors import ToolError, nearest
from healthgym.evaluation.ehr.answers import canonical
from healthgym.evaluation.ehr.browsing import MAX_ROWS, run_query
from healthgym.evaluation.ehr.schema import Table
from healthgym.evaluation.ehr.store import Store
from healthgym.toolkit import Toolkit, tool

Aggregate = Literal["rows", "count", "count_distinct", "min", "max", "sum", "mean"]
_OPERATORS = {
    "=": "=", "!=": "IS NOT", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "contains": "LIKE", "is_empty": "IS NULL",
    "is_not_empty": "IS NOT NULL",
}  # fmt: skip


class Filter(BaseModel, extra="forbid"):
    """One condition on a column."""

    column: str
    operator: Literal["=", "!=", "<", "<=", ">", ">=", "contains", "is_empty", "is_not_empty", "in"] = "="
    value: str | int | float | list[str | int | float] | None = None


class EhrToolkit(Toolkit):
    """Tools over one patient's rows. `store` is set by `toolkit_for`."""

    domain = "ehr"
    store: ClassVar[Store]

    @tool()
    def list_tables(self) -> str:
        """List the tables with the number of this patient's rows."""
        lines = []
        for table in self.store.schema.tables.values():
            rows = self._database.execute(f"SELECT count(*) FROM {table.name}").fetchone()[0]
            lines.append(f"{table.name} ({rows} rows): {table.about}")
        return "\n".join(lines)

    @tool()
    def describe_table(self, table: str) -> str:
        """List a table's columns with their types and commonest values.

        Args:
            table: Name of the table.
        """
        shape = self._table(table)
        lines = [f"{shape.name}: {shape.about}. Key {shape.key}."]
        for column, kind in shape.columns.items():
            found = self._database.execute(
                f"SELECT {column} FROM {shape.name} WHERE {column} IS NOT NULL GROUP BY {column} ORDER BY count(*) DESC, 1"
            )
            values = [str(row[0])[:40] for row in found.fetchmany(3)]
            lines.append(
                f"{column} ({kind}), such as {', '.join(values)}" if values else f"{column} ({kind}), all empty"
            )
        return "\n".join(lines)

    @tool()
    def query_table(
        self,
        table: str,
        columns: list[str] | None = None,
        filters: list[Filter] | None = None,
        start: str | int | float | None = None,
        end: str | int | float | None = None,
        aggregate: Aggregate = "rows",
        order_by: str | None = None,
        descending: bool = False,
        limit: Annotated[int, Field(ge=1, le=MAX_ROWS)] = 50,
    ) -> str:
        """Query one table. All filters must hold. The time range is [start, end) on the table's time column.

        Args:
            table: Name of the table.
            columns: Columns to show, or the one column to aggregate; all when left out.
            filters: Conditions, such as {"column": "itemid", "operator": "in", "value": [50813]}.
            start: First time or offset that is included.
            end: First time or offset that is no longer included.
            aggregate: rows shows rows; the others sum up the first of the columns.
            order_by: Column to sort by.
            descending: Sort from the largest.
            limit: Most rows shown.
        """
        shape = self._table(table)
        shown = [self._column(shape, name) for name in columns or shape.columns]
        where, values = self._conditions(shape, filters or [])
        for bound, sign in ((start, ">="), (end, "<")):
            if bound is not None:
                if not shape.time:
                    raise ToolError(f"{shape.name} has no time column; leave start and end out")
                where.append(f"{shape.time} {sign} ?")
                values.append(bound)
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        if aggregate != "rows":
            return run_query(
                self._database, f"SELECT {_summed(aggregate, shown[0])} FROM {shape.name}{condition}", values
            )
        by = self._column(shape, order_by) if order_by else shape.time or shape.key
        order = f" ORDER BY {by}{' DESC' if descending else ''}, {shape.key} LIMIT {limit}"
        return run_query(self._database, f"SELECT {', '.join(shown)} FROM {shape.name}{condition}{order}", values)

    @tool()
    def run_sql(self, query: str) -> str:
        """Run one SELECT (SQLite) over the tables; shows at most 100 rows. Also does arithmetic: SELECT 7.5 / 60.

        Args:
            query: The statement.
        """
        return run_query(self._database, query)

    @tool(effect="submit")
    def submit_answer(self, value: bool | int | float | str, unit: str = "") -> str:
        """Submit the one answer and end.

        Args:
            value: A number, a text (yes or no, a code, a name, a time as YYYY-MM-DD HH:MM), or "not measured".
            unit: Unit of a measured number; a number in a wrong unit is wrong.
        """
        ((patient, chart),) = self.world.charts.items()
        form = chart.extra["answer_form"]
        self.world.state.set(f"{patient}.answer", canonical(form["kind"], form["unit"], value, unit))
        return f"Submitted: {value} {unit}".rstrip()

    @property
    def _database(self) -> sqlite3.Connection:
        (patient,) = self.world.charts
        return self.store.database_of(patient)

    def _table(self, name: str) -> Table:
        tables = self.store.schema.tables
        if name.strip().lower() not in tables:
            raise ToolError(f"No table {name[:60]!r}.{nearest(name[:60], tables, limit=20)}")
        return tables[name.strip().lower()]

    def _column(self, table: Table, name: str) -> str:
        if name.strip().lower() not in table.columns:
            raise ToolError(f"{table.name} has no column {name[:60]!r}.{nearest(name[:60], table.columns, limit=40)}")
        return name.strip().lower()

    def _conditions(self, table: Table, filters: list[Filter]) -> tuple[list[str], list[Any]]:
        where: list[str] = []
        values: list[Any] = []
        for one in filters:
            column = self._column(table, one.column)
            given = one.value if isinstance(one.value, list) else [one.value]
            if one.operator in ("is_empty", "is_not_empty"):
                where.append(f"{column} {_OPERATORS[one.operator]}")
                continue
            if given == [None] or not given:
                raise ToolError(f"The filter on {column} needs a value")
            if one.operator == "in":
                where.append(f"{column} IN ({', '.join('?' * len(given))})")
                values += given
                continue
            if len(given) > 1:
                raise ToolError(f"The filter on {column} takes one value; use the operator 'in' for several")
            where.append(f"{column} {_OPERATORS[one.operator]} ?")
            values.append(f"%{given[0]}%" if one.operator == "contains" else given[0])
        return where, values


def _summed(aggregate: Aggregate, column: str) -> str:
    sums = {"count": "count({})", "count_distinct": "count(DISTINCT {})", "mean": "avg({})"}
    return f"{sums.get(aggregate, aggregate + '({})').format(column)} AS {aggregate}_{column}"


def toolkit_for(store: Store) -> type[EhrToolkit]:
    """Return the toolkit over the rows of one store."""
    return type("StoredEhrToolkit", (EhrToolkit,), {"store": store, "__doc__": EhrToolkit.__doc__})
