"""Read-only queries over one patient's database: no writing, no other file, bounded work, rows and text."""

import sqlite3
import time
from collections.abc import Sequence
from typing import Any

from healthgym.errors import ToolError

MAX_ROWS = 100
MAX_CHARACTERS = 8000
MAX_STEPS = 40_000_000
"""Steps of SQLite's machine, about two seconds: reached at the same place whatever else the machine does."""
MAX_SECONDS = 20.0
"""A query whose single steps are slow ends here."""
_STEPS_BETWEEN_CHECKS = 10_000
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_FORBIDDEN_FUNCTIONS = {"load_extension", "random", "randomblob", "zeroblob", "printf", "format"}
"""What reaches outside, differs from run to run, or works for long within one step."""
_LONGEST_VALUE, _LONGEST_PATTERN = 20_000, 200
"""Characters; they bound what a single step can take."""


def run_query(connection: sqlite3.Connection, sql: str, parameters: Sequence[Any] = ()) -> str:
    """Return the rows of one SELECT as text: a header line, then values separated by ` | `, at most MAX_ROWS of them.

    Raises:
        ToolError: The query is no single SELECT, is wrong, or takes too long.
    """
    steps = 0
    started = time.monotonic()

    def is_too_long() -> bool:
        nonlocal steps
        steps += _STEPS_BETWEEN_CHECKS
        return steps > MAX_STEPS or time.monotonic() - started > MAX_SECONDS

    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, _LONGEST_PATTERN)
    connection.set_authorizer(_authorize)
    connection.set_progress_handler(is_too_long, _STEPS_BETWEEN_CHECKS)
    try:
        cursor = connection.execute(sql, parameters)
        if cursor.description is None:
            raise ToolError("Only a single SELECT (or WITH ... SELECT) can be run, and it may not be empty.")
        rows = cursor.fetchmany(MAX_ROWS + 1)
        names = [column[0] for column in cursor.description]
        cursor.close()
    except (sqlite3.Error, sqlite3.Warning, UnicodeError) as error:
        raise ToolError(_explained(error)) from None
    finally:
        connection.set_progress_handler(None, 0)
        connection.set_authorizer(None)
    return _as_text(names, rows)


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    is_allowed = action in _ALLOWED and not (
        action == sqlite3.SQLITE_FUNCTION and str(second).lower() in _FORBIDDEN_FUNCTIONS
    )
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


def _explained(error: Exception) -> str:
    text = str(error)
    if "interrupted" in text:
        return "The query takes too long and was stopped. Narrow it by itemid and time, or aggregate less at once."
    if "not authorized" in text or "prohibited" in text:
        return f"{text}: the tables can only be read, by SELECT."
    if "one statement" in text:
        return "Give one statement at a time."
    return f"{text[:300]}. Tables and columns are named by list_tables and describe_table."


def _as_text(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [" | ".join(names)]
    size = len(lines[0])
    note = "" if rows else "(no rows)"
    for number, row in enumerate(rows):
        line = " | ".join(_cell(value) for value in row)
        size += len(line) + 1
        if number == MAX_ROWS or size > MAX_CHARACTERS:
            note = f"(cut after {number} rows; narrow the query or aggregate)"
            break
        lines.append(line)
    return "\n".join([*lines, note] if note else lines)


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value)[:200]
