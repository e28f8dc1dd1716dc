"""One Markdown page a domain with a drawing of an episode, made from the domain itself: what an episode is, tools, tasks, sources."""

from pathlib import Path
from typing import Any

from healthgym.authoring.screenshot import screenshot
from healthgym.registry import Domain, load_domain
from healthgym.tasks.manifest import read_manifest
from healthgym.tasks.task import DIFFICULTIES, SPLITS
from healthgym.toolkit import ToolSpec

NOTICE = "<!-- Made by `healthgym domains --docs docs/domains`; edit the domain, not this page. -->"


def write_domain_pages(names: list[str], folder: Path) -> list[Path]:
    """Write a page and a drawing of an episode for each domain and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in names:
        domain = load_domain(name)
        path = folder / f"{domain.name}.md"
        path.write_text(domain_page(domain), encoding="utf-8")
        drawing = folder / f"{domain.name}.svg"
        drawing.write_text(screenshot(domain), encoding="utf-8")
        written += [path, drawing]
    return written


def domain_page(domain: Domain) -> str:
    """Return the page of one domain. Raises ContentError when it was not frozen: the counts come from its manifest."""
    manifest = read_manifest(domain)
    own = [spec for spec in domain.tools.values() if spec.domain == domain.name]
    shared = [spec for spec in domain.tools.values() if spec.domain != domain.name]
    parts = [
        NOTICE,
        f"# {domain.title}\n\n`{domain.name}`: {domain.description}",
        f"{manifest['tasks']:,} tasks, {len(own)} tools of its own, {len(shared)} shared. Budget of an episode unless a task sets "
        f"another: {_budget(domain)}.",
        f"![The opening of an episode and its first calls]({domain.name}.svg)\n\nPlay one yourself: "
        f"`healthgym play {domain.name} --seed 7`.",
        "## Tasks\n\n" + _tasks(domain, manifest),
        "## Tools\n\n" + _tools(own),
    ]
    if shared:
        parts.append("Shared: " + ", ".join(f"`{spec.name}`" for spec in shared) + ".")
    parts.append("## What the agent is told\n\n" + _indented(domain.guideline))
    return "\n\n".join(parts) + "\n"


def _budget(domain: Domain) -> str:
    limits = {
        "turns": domain.budget.turns,
        "tool calls": domain.budget.tool_calls,
        "simulated minutes": domain.budget.minutes,
        "cost": domain.budget.cost,
    }
    return ", ".join(f"{value:g} {name}" for name, value in limits.items() if value is not None) or "none"


def _tasks(domain: Domain, manifest: dict[str, Any]) -> str:
    rows = ["| family | what it asks | " + " | ".join((*SPLITS, *DIFFICULTIES)) + " |"]
    rows.append("|---|---|" + "---:|" * (len(SPLITS) + len(DIFFICULTIES)))
    for name, entry in manifest["families"].items():
        told = (domain.families[name].generate.__doc__ or "").strip().split("\n")[0]
        numbers = [entry["counts"].get(split, 0) for split in SPLITS]
        numbers += [entry["difficulty"].get(level, 0) for level in DIFFICULTIES]
        rows.append(f"| `{name}` | {_cell(told)} | " + " | ".join(str(number) for number in numbers) + " |")
    return "\n".join(rows)


def _tools(specs: list[ToolSpec]) -> str:
    rows = ["| tool | what it does | effect | minutes | cost |", "|---|---|---|---:|---:|"]
    for spec in sorted(specs, key=lambda spec: spec.name):
        told = spec.description.strip().split("\n")[0]
        rows.append(f"| `{spec.name}` | {_cell(told)} | {spec.effect} | {spec.minutes:g} | {spec.cost:g} |")
    return "\n".join(rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _indented(markdown: str) -> str:
    """Lower the headings of a guideline below the page's own."""
    return "\n".join(f"##{line}" if line.startswith("#") else line for line in markdown.splitlines())
