"""The page of `healthgym tasks show ID --open`: a task's images, prompt and truth, for a person to look at."""

import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from healthgym.cli.output import console, print_json
from healthgym.diagnostics.gallery import Panel, write_gallery
from healthgym.errors import TaskError
from healthgym.registry import Domain
from healthgym.tasks import AnswerField, Case
from healthgym.toolkit import Picture
from healthgym.world import Chart, World


def write_page(case: Case, domain: Domain, out: Path | None, *, solution: bool, as_json: bool) -> None:
    """Write the page of a task and say where; without `out` it goes to a temporary folder and is opened."""
    target = out or Path(mkdtemp(prefix="healthgym-")) / f"{case.task.id.replace('/', '-')}.html"
    path = write_gallery(target, case.task.id, list(task_panels(case, domain, solution=solution)))
    opened = out is None and webbrowser.open(path.resolve().as_uri())
    if as_json:
        return print_json({"task_id": case.task.id, "page": str(path), "opened": opened})
    return console.print(f"{'opened' if opened else 'wrote'} {path}", markup=False, soft_wrap=True)


def task_panels(case: Case, domain: Domain, *, solution: bool = True) -> Iterator[Panel]:
    """Yield the parts of a task's page: prompt with every image, and with `solution` gold and truth.

    Raises:
        TaskError: The task shows no image.
    """
    task = case.task
    toolkit = domain.toolkit(World(case.charts))
    names = dict.fromkeys([*task.image_ids, *(name for chart in case.charts.values() for name in _entries(chart))])
    if not names:
        raise TaskError(f"{task.id} has no image to show; leave out --open and --out to read it as text")
    pictures = [toolkit.picture(name) for name in names]
    yield Panel(heading=f"{domain.title}, {task.difficulty}, {task.split}", pictures=pictures, text=task.prompt)
    if not solution:
        return
    wanted = {**task.criteria.answer, **task.criteria.end_state}
    yield Panel(heading="Gold", facts={name: _gold(rule) for name, rule in wanted.items()})
    for chart in case.charts.values():
        for name, entry in _entries(chart).items():
            yield Panel(heading=f"Truth of {name}", facts=_flat(entry))
    calls = "\n".join(
        f"{call.tool}({', '.join(f'{k}={v!r}' for k, v in call.arguments.items())})" for call in task.solution
    )
    yield Panel(heading="Solution", text=f"{calls}\n\n{task.provenance}")


def write_gallery_pages(cases: Sequence[Case], domain: Domain, folder: Path, limit: int) -> list[Path]:
    """Write one page a kind of image, of up to `limit` tasks spread evenly over those that show it.

    Raises:
        TaskError: No task of the domain has an image.
    """
    by_kind: dict[str, list[Case]] = {}
    for case in cases:
        kinds = {entry.get("kind", "image") for chart in case.charts.values() for entry in _entries(chart).values()}
        for kind in sorted(kinds):
            by_kind.setdefault(kind, []).append(case)
    if not by_kind:
        raise TaskError(f"no task of {domain.name} has an image to show; choose another domain or split")
    pages = []
    for kind, shown in by_kind.items():
        chosen = shown[:: max(1, -(-len(shown) // limit))]
        title = f"{domain.title}: {kind.replace('_', ' ')}"
        pages.append(write_gallery(folder / f"{kind}.html", title, list(_case_panels(domain, chosen))))
    return pages


def _case_panels(domain: Domain, cases: Sequence[Case]) -> Iterator[Panel]:
    """Yield one panel a case: its images with its gold."""
    for case in cases:
        toolkit = domain.toolkit(World(case.charts))
        pictures: list[Picture] = [toolkit.picture(name) for chart in case.charts.values() for name in _entries(chart)]
        golds = {name: _gold(rule) for name, rule in case.task.criteria.answer.items()}
        yield Panel(heading=case.task.id, pictures=pictures, facts=golds)


def _entries(chart: Chart) -> Mapping[str, Any]:
    images = chart.extra.get("images", {})
    return images if isinstance(images, Mapping) else {}


def _gold(rule: Any) -> Any:
    if not isinstance(rule, AnswerField):
        return rule
    margin = f" +/- {rule.tolerance:g}" if rule.compare == "range" else ""
    return f"{rule.gold}{margin} {rule.unit}".strip()


def _flat(entry: Any, name: str = "") -> dict[str, Any]:
    """Return an image's entry as one level of names."""
    if not isinstance(entry, Mapping):
        return {name or "value": entry}
    return {
        key: value for part, inner in entry.items() for key, value in _flat(inner, f"{name} {part}".strip()).items()
    }
