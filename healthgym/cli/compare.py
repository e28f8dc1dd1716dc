"""`healthgym compare`: two evaluations or more on the same rows, with tests, effect sizes and the rows that changed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from healthgym.cli.output import Json, console, print_json
from healthgym.errors import ConfigError

if TYPE_CHECKING:
    from healthgym.evaluation.comparison import Comparison

SHOWN = 8
"""Ids of changed rows that the terminal shows each way; --json has them all."""


def compare(
    folders: Annotated[
        list[Path], typer.Argument(metavar="EVAL_DIR...", help="Folders of evaluations; the first is the baseline.")
    ],
    margin: Annotated[
        float, typer.Option("--margin", min=0.001, max=0.5, help="Difference in score too small to matter.")
    ] = 0.05,
    html: Annotated[Path | None, typer.Option("--html", help="Write the comparison as one HTML page as well.")] = None,
    rescored: Annotated[
        bool, typer.Option("--rescored", help="Take rows as healthgym eval --rescore left them last.")
    ] = False,
    anyway: Annotated[bool, typer.Option("--anyway", help="Compare even if scorer or items differ.")] = False,
    as_json: Json = False,
) -> None:
    """Compare evaluations with the first of them, row by row.

    A folder may hold one evaluation, or several below it, one a benchmark. Training runs are compared with
    healthgym report --compare.

    Example: healthgym compare evals/base evals/tt_opd --html comparison.html
    """
    from healthgym.evaluation.comparison import compare_evaluations
    from healthgym.evaluation.stored import Stored, evaluations_in

    if len(folders) < 2:
        raise ConfigError("healthgym compare needs two evaluations or more; healthgym report shows a single one")
    runs = [[Stored.load(path, rescored=rescored) for path in evaluations_in(folder)] for folder in folders]
    made = compare_evaluations(runs[0], runs[1:], margin=margin, anyway=anyway)
    if html is not None:
        from healthgym.evaluation.comparison_page import write_comparison

        write_comparison(made, runs, html)
    if as_json:
        return print_json(
            {"comparisons": [one.to_dict() for one in made], "report": None if html is None else str(html)}
        )
    for one in made:
        _show(one)
    if html is not None:
        console.print(f"wrote {html}", markup=False)
    return None


def _show(one: "Comparison") -> None:
    from healthgym.evaluation.table import comparison_table

    for warning in one.warnings:
        console.print(f"[yellow]warning[/] {_plain(warning)}")
    console.print(comparison_table(one))
    for what, keys in (("better", one.gained), ("worse", one.lost)):
        if keys:
            named = ", ".join(key if attempt == 0 else f"{key} (attempt {attempt})" for key, attempt in keys[:SHOWN])
            more = f" and {len(keys) - SHOWN:,} more" if len(keys) > SHOWN else ""
            console.print(f"{len(keys):,} rows {what} in {one.second}: {named}{more}", markup=False)


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
