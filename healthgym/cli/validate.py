"""`healthgym validate`: proves that domains can be trusted."""

from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from healthgym.cli.output import Json, console, errors, print_json, table
from healthgym.registry import domain_names, load_domain


def validate(
    domain: Annotated[
        str | None, typer.Argument(help="Registered name or folder; every registered domain when absent.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", "-n", min=1, help="About how many tasks of each domain; all when absent.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Prove a domain: every task solvable, every tool callable on every patient, no cheap policy rewarded.

    Exit code 0 when all is proved, 1 when something failed.

    Example: healthgym validate triage_emergency --sample 50
    """
    from healthgym.validation import validate as prove

    proofs: dict[str, dict[str, Any]] = {}
    for name in [domain] if domain else domain_names():
        loaded = load_domain(name)
        with _progress() as progress:
            bar = progress.add_task(loaded.name, total=None, stage="")

            def tell(stage: str, done: int, total: int, progress: Progress = progress, bar: Any = bar) -> None:
                progress.update(bar, completed=done, total=total, stage=stage)

            proofs[loaded.name] = prove(loaded, sample=sample, progress=tell)
    ok = not any(proof["failures"] for proof in proofs.values())
    if as_json:
        print_json({"ok": ok, "domains": proofs})
    else:
        for name, proof in proofs.items():
            _show(name, proof)
    if not ok:
        raise typer.Exit(1)


def _progress() -> Progress:
    columns = (
        TextColumn("{task.description}: {task.fields[stage]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal)


def _show(name: str, proof: dict[str, Any]) -> None:
    console.print(
        f"[bold]{name}[/]: {proof['tasks']} tasks, the worst oracle earns {proof['oracle_min']:.3f}; "
        f"{proof['tools']} tools, {proof['calls']} calls tried"
    )
    rows = [[attacker, row["success"], row["reward"]] for attacker, row in proof["attackers"].items()]
    table("What cheap policies earn", ["policy", "success", "reward"], rows)
    for failure in proof["failures"]:
        _show_failure(failure)
    if not proof["failures"]:
        console.print("[green]proved[/]")


def _show_failure(failure: dict[str, Any]) -> None:
    """Print one problem: what, where, the remedy, and the first places where it was met."""
    console.print(
        f"[red]failed[/] {failure['kind']} [bold]{failure['name']}[/], {failure['count']} times", highlight=False
    )
    lines = [("what", failure["what"]), ("where", failure["where"]), ("remedy", failure["remedy"])]
    lines += [("for example", example) for example in failure["examples"]]
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in lines:
        if text:
            grid.add_row(f"  {label}", Text(text))
    console.print(grid)
