"""`healthgym new domain|tool|task`: scaffolds that work as written."""

from pathlib import Path
from typing import Annotated

import typer

from healthgym.authoring import new_domain, new_task, new_tool
from healthgym.cli.output import Json, console, print_json

app = typer.Typer(
    help="Start a domain, a tool or a task family from files that pass validate as they are.", no_args_is_help=True
)
DomainFolder = Annotated[Path, typer.Option("--domain", "-d", help="Folder of the domain to add to.")]


@app.command()
def domain(
    path: Annotated[Path, typer.Argument(help="New folder; its name becomes the domain's.")], as_json: Json = False
) -> None:
    """Write a small working domain: healthgym new domain wound_care"""
    _report(new_domain(path), f"healthgym validate {path}", as_json)


@app.command()
def tool(
    name: Annotated[str, typer.Argument(help="Lower-case name of the tool.")],
    domain: DomainFolder,
    as_json: Json = False,
) -> None:
    """Add a tool to a domain's toolkit: healthgym new tool read_age --domain wound_care"""
    _report(new_tool(name, domain), f"healthgym validate {domain}", as_json)


@app.command()
def task(
    name: Annotated[str, typer.Argument(help="Lower-case name of the family.")],
    domain: DomainFolder,
    as_json: Json = False,
) -> None:
    """Add a task family to a domain: healthgym new task fever_at_night --domain wound_care"""
    _report(new_task(name, domain), f"healthgym validate {domain}", as_json)


def _report(written: list[Path], then: str, as_json: bool) -> None:
    if as_json:
        print_json({"written": [str(path) for path in written], "next": then})
        return
    for path in written:
        console.print(f"wrote {path}")
    console.print(f"Next: {then}")
