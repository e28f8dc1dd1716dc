"""`healthgym report`: one page about a run, and a verdict for scripts."""

from pathlib import Path
from typing import Annotated

import typer

from healthgym.cli.output import Json, console, print_json

_COLOURS = {"healthy": "green", "warning": "yellow", "collapsed": "red"}


def report(
    run_dir: Annotated[Path, typer.Argument(help="Folder of the run, as training printed it.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="HTML file to write; RUN_DIR/report.html when absent.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a run's diagnostics as one HTML page and say whether the run is healthy.

    Exit code 0 for healthy and warning, 3 for collapsed.

    Example: healthgym report runs/tt_opd --out report.html
    """
    from healthgym.diagnostics import verdict, write_report

    page, judged = write_report(run_dir, out), verdict(run_dir)
    if as_json:
        print_json({"run_dir": str(run_dir), "report": str(page), **judged.to_dict()})
    else:
        console.print(f"[{_COLOURS[judged.status]}]{judged.status}[/] after {judged.steps} steps")
        for finding in judged.findings:
            console.print(f"- {finding.severity}: {finding.message} {finding.remedy}", markup=False)
        console.print(f"wrote {page}", markup=False)
    raise typer.Exit(judged.exit_code)
