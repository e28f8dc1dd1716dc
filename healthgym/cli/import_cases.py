"""`healthgym tasks import`: foreign cases become a domain folder."""

from pathlib import Path
from typing import Annotated

import typer

from healthgym.cli.output import Json, console, print_json, table
from healthgym.imports import ImportReport

SHOWN = 8
"""Refusals printed one by one."""


def import_tasks(
    path: Annotated[Path, typer.Argument(help="File or folder to import; .gz is unpacked.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New domain folder; its name becomes the domain's.")],
    format: Annotated[
        str | None,
        typer.Option("--format", "-f", help="agentclinic, fhir or ddxplus; recognised by content when absent."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", min=1, help="Most cases (agentclinic), patients (fhir) or tasks (ddxplus)."),
    ] = None,
    licence: Annotated[str, typer.Option(help="Licence of the files, kept beside them.")] = "not stated",
    origin: Annotated[str, typer.Option(help="Where the files are from, kept beside them.")] = "not stated",
    as_json: Json = False,
) -> None:
    """Turn foreign cases into a domain folder: simulated consultations, FHIR records, DDXPlus patients.

    Example: healthgym tasks import cases.jsonl --out my_cases
    """
    from healthgym.imports import import_cases

    report = import_cases(path, out, format=format, limit=limit, licence=licence, origin=origin)
    if as_json:
        return print_json(report.to_dict())
    _show(report)
    return None


def _show(report: ImportReport) -> None:
    rows = [
        [name, *(counts.get(split, 0) for split in ("train", "val", "test"))] for name, counts in report.tasks.items()
    ]
    table(
        f"{report.total} tasks, {report.format}, files: {len(report.sources)}",
        ["family", "train", "val", "test"],
        rows,
    )
    refused = report.log.refused
    if refused:
        kinds = report.to_dict()["refused_by_kind"]
        console.print(
            f"[yellow]refused {len(refused)}[/]: " + ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        )
        for each in refused[:SHOWN]:
            console.print(f"  {each.place}: {each.reason}", markup=False, soft_wrap=True)
        if len(refused) > SHOWN:
            console.print(f"  and {len(refused) - SHOWN} more; --json lists all")
    for what, count in sorted(report.log.left_out.items()):
        console.print(f"left out {count}: {what}", markup=False, soft_wrap=True)
    for note in report.log.notes:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    console.print(f"wrote {report.out}. Next: healthgym validate {report.out}", markup=False, soft_wrap=True)
