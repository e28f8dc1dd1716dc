"""`healthgym domains`, `tools` and `tasks`: what there is."""

from pathlib import Path
from typing import Annotated, Any

import typer

from healthgym.authoring.chart_page import write_chart_page
from healthgym.authoring.domain_page import write_domain_pages
from healthgym.cli.output import Json, console, print_json, table
from healthgym.cli.task_page import write_gallery_pages, write_page
from healthgym.errors import NotRegistered
from healthgym.registry import Domain, domain_names, load_domain
from healthgym.tasks import SPLITS, AnswerField, Suite, load_suite
from healthgym.tasks.manifest import differences, write_manifest

DomainOption = Annotated[str | None, typer.Option("--domain", "-d", help="Registered name or folder of one domain.")]
SplitOption = Annotated[str | None, typer.Option("--split", "-s", help=f"One of {', '.join(SPLITS)}.")]
LimitOption = Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Show at most this many.")]

tasks_app = typer.Typer(help="List tasks, show one whole, freeze and verify the suite.", invoke_without_command=True)


def domains(
    docs: Annotated[
        Path | None,
        typer.Option(
            "--docs", metavar="DIR", help="Write a page and a drawing of an episode for each domain into this folder."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the clinical domains with their tools and tasks by split.

    Example: healthgym domains --json
    """
    if docs is not None:
        for path in write_domain_pages(domain_names(), docs):
            console.print(str(path), soft_wrap=True)
        return None
    counts = load_suite().counts()
    rows: list[dict[str, Any]] = []
    for name in domain_names():
        domain = load_domain(name)
        own = sum(spec.domain == name for spec in domain.tools.values())
        rows.append({"name": name, "title": domain.title, "tools": own, "tasks": counts[name]})
    if as_json:
        return print_json(rows)
    table(
        "Domains",
        ["name", "title", "tools", *SPLITS],
        [[row["name"], row["title"], row["tools"], *(row["tasks"][split] for split in SPLITS)] for row in rows],
    )
    console.print("Next: healthgym tools --domain NAME, or healthgym play NAME")
    return None


def tools(domain: DomainOption = None, as_json: Json = False) -> None:
    """List the tools an agent can call, with their arguments.

    Example: healthgym tools --domain triage_emergency
    """
    chosen = [load_domain(domain)] if domain else [load_domain(name) for name in domain_names()]
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for item in chosen:
        for spec in item.tools.values():
            rows.setdefault(
                (spec.domain, spec.name),
                {
                    "name": spec.name,
                    "domain": spec.domain,
                    "effect": spec.effect,
                    "parameters": spec.parameters,
                    "description": spec.description,
                },
            )
    listed = [rows[key] for key in sorted(rows)]
    if as_json:
        return print_json(listed)
    shown = [
        [row["domain"], row["name"], row["effect"], ", ".join(row["parameters"]["properties"]), row["description"]]
        for row in listed
    ]
    table("Tools", ["domain", "tool", "effect", "arguments", "what it does"], shown)
    return None


@tasks_app.callback()
def tasks(
    context: typer.Context,
    domain: DomainOption = None,
    split: SplitOption = None,
    limit: LimitOption = None,
    as_json: Json = False,
) -> None:
    """List tasks with split and difficulty; `healthgym tasks show ID` prints one.

    Example: healthgym tasks --domain drug_interaction --split test --limit 5
    """
    if context.invoked_subcommand is None:
        list_tasks(domain, split, limit, as_json)


@tasks_app.command("list")
def list_tasks(
    domain: DomainOption = None, split: SplitOption = None, limit: LimitOption = None, as_json: Json = False
) -> None:
    """List tasks with split and difficulty."""
    if split is not None and split not in SPLITS:
        raise NotRegistered.named("split", split, SPLITS)
    suite = load_suite(domain) if domain else load_suite()
    name = load_domain(domain).name if domain else None
    ids = suite.ids(name, split)
    shown = ids if limit is None else ids[:limit]
    items = [_item(suite, task_id) for task_id in shown]
    if as_json:
        counts = suite.counts()
        return print_json(
            {
                "suite": suite.version,
                "digest": suite.digest(name),
                "total": len(ids),
                "by_domain": {key: sum(value.values()) for key, value in counts.items() if name in (None, key)},
                "items": items,
            }
        )
    table(
        f"{len(ids)} tasks" + (f", the first {len(shown)}" if len(shown) < len(ids) else ""),
        ["id", "split", "difficulty"],
        [[item["id"], item["split"], item["difficulty"]] for item in items],
    )
    return None


@tasks_app.command("show")
def show_task(
    task_id: Annotated[str, typer.Argument(help="As listed by healthgym tasks.")],
    domain: DomainOption = None,
    solution: Annotated[bool, typer.Option(help="Show the gold answer and the oracle's calls.")] = True,
    open_page: Annotated[
        bool, typer.Option("--open", help="Write a page with the task's images and open it; with --out, write it only.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="HTML file of the page with the task's images.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show one task: prompt, tools, criteria, dangers and the solution that proves it.

    Example: healthgym tasks show visual_diagnosis/heart_size/train/0000 --open
    """
    suite = load_suite(domain) if domain else load_suite()
    task = suite.task(task_id)
    home: Domain = suite.domains[task.domain]
    if open_page or out is not None:
        return write_page(suite.case(task_id), home, out, solution=solution, as_json=as_json)
    if as_json:
        value = task.to_dict()
        value["tools"] = list(task.tools or home.tools)
        if not solution:
            value = {key: item for key, item in value.items() if key not in ("criteria", "solution")}
        return print_json(value)
    console.print(f"[bold]{task.id}[/]  ({task.difficulty}, {task.split})\n")
    console.print(task.prompt, markup=False)
    console.print(f"\n[bold]Tools[/]: {', '.join(task.tools or home.tools)}")
    if solution:
        criteria = task.criteria
        console.print("[bold]Gold[/]: ", end="")
        wanted = {**criteria.answer, **criteria.end_state}
        golds = {name: rule.gold if isinstance(rule, AnswerField) else rule for name, rule in wanted.items()}
        console.print(str(golds), markup=False)
        console.print(f"[bold]Evidence needed[/]: {', '.join(item.label for item in criteria.evidence) or 'none'}")
        for hazard in criteria.hazards:
            console.print(f"[bold]Hazard[/] ({hazard.severity}): {hazard.label}")
        for deadline in criteria.deadlines:
            console.print(
                f"[bold]Deadline[/] ({deadline.severity}): {deadline.tool} within {deadline.within_minutes:g} minutes of "
                f"{deadline.after or f'minute {deadline.start:g}'}, else {deadline.label}"
            )
        console.print("[bold]Solution[/]:")
        for call in task.solution:
            arguments = ", ".join(f"{key}={value!r}" for key, value in call.arguments.items())
            console.print(f"  {call.tool}({arguments})", markup=False)
    console.print(f"[bold]Provenance[/]: {task.provenance}")
    return None


@tasks_app.command("freeze")
def freeze(
    domains: Annotated[
        list[str] | None, typer.Argument(help="Names or folders; every registered domain when none.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the manifest of counts and digests that pins a domain's cases, into the domain's folder.

    Example: healthgym tasks freeze wound_care
    """
    suite = load_suite(*(domains or ()))
    written = {name: str(write_manifest(suite, name)) for name in suite.domains}
    if as_json:
        return print_json(written)
    for path in written.values():
        console.print(path, soft_wrap=True)
    return None


@tasks_app.command("verify")
def verify(
    domains: Annotated[
        list[str] | None, typer.Argument(help="Names or folders; every registered domain when none.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Generate every case anew and compare with the manifest; exit code 1 when anything changed.

    Example: healthgym tasks verify triage_emergency
    """
    suite = load_suite(*(domains or ()))
    changed = {name: differences(suite, name) for name in suite.domains}
    if as_json:
        print_json({"ok": not any(changed.values()), "changed": changed})
    else:
        for name, lines in changed.items():
            for line in lines or [f"{name}: as frozen"]:
                console.print(line, markup=False, soft_wrap=True)
    if any(changed.values()):
        raise typer.Exit(1)


@tasks_app.command("charts")
def charts(
    domain: Annotated[str, typer.Argument(help="Registered name or folder.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML file to write.")] = Path("charts.html"),
    sample: Annotated[int, typer.Option(min=1, help="How many charts to draw.")] = 20,
    seed: Annotated[int, typer.Option(help="Which charts.")] = 0,
) -> None:
    """Write a page of sampled charts, hidden truth included, for a clinician to judge.

    Example: healthgym tasks charts triage_emergency --sample 20 --out charts.html
    """
    console.print(str(write_chart_page(load_domain(domain), out, sample=sample, seed=seed)), soft_wrap=True)


@tasks_app.command("gallery")
def gallery(
    domain: Annotated[str, typer.Option("--domain", "-d", help="Registered name or folder of a domain with images.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the pages, one a kind of image.")],
    split: SplitOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Tasks a page.")] = 12,
    as_json: Json = False,
) -> None:
    """Write pages that show the images of a domain's tasks with their golds, one page a kind of image.

    Example: healthgym tasks gallery --domain visual_diagnosis --out gallery
    """
    if split is not None and split not in SPLITS:
        raise NotRegistered.named("split", split, SPLITS)
    suite, home = load_suite(domain), load_domain(domain)
    pages = write_gallery_pages(list(suite.cases(home.name, split)), home, out, limit)
    if as_json:
        return print_json({"pages": [str(page) for page in pages]})
    for page in pages:
        console.print(f"wrote {page}", markup=False, soft_wrap=True)
    return None


def _item(suite: Suite, task_id: str) -> dict[str, str]:
    task = suite.task(task_id)
    return {"id": task.id, "domain": task.domain, "split": task.split, "difficulty": task.difficulty}
