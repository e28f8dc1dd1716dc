"""How commands print: tables for people, JSON for scripts, errors on stderr."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of tables.")]

console = Console(highlight=False, soft_wrap=False)
errors = Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """Print one JSON document on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n")


def print_json_line(value: Any) -> None:
    """Print one JSON object on one line of stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table; numbers are aligned right."""
    rows = [list(row) for row in rows]
    made = Table(title=title, title_justify="left", header_style="bold")
    for index, name in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[index], int | float) for row in rows)
        made.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        made.add_row(*(f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row))
    console.print(made)
