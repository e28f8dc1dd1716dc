"""`write_traces`: every saved episode of a run on one page, by step and task."""

from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from healthgym.diagnostics.episodes import Comparison, traced_groups
from healthgym.diagnostics.run import Run, RunFolderError

MAX_EPISODES = 400
"""Most episodes on the page, the latest ones; the files hold them all."""


def write_traces(run_dir: str | Path, out: str | Path | None = None) -> Path:
    """Write the page and return its path; RUN_DIR/traces.html when `out` is None.

    Raises:
        RunFolderError: the folder holds no run, or the run saved no traces.
    """
    run = Run.load(run_dir)
    notes: list[str] = []
    files_shown: list[tuple[str, list[Comparison]]] = []
    left = MAX_EPISODES
    for file in reversed(run.traces):
        groups = traced_groups(file, notes)
        count = sum(len(group.episodes) for group in groups)
        if files_shown and count > left:
            notes.append(f"only the latest {len(files_shown)} of {len(run.traces)} trace files are shown")
            break
        left -= count
        files_shown.append((file.stem, groups))
    if not any(groups for _, groups in files_shown):
        raise RunFolderError(
            f"{run.path} holds no traces. Train with rollout.trace_every above 0 to save some; see traces/*.jsonl"
        )
    templates = files("healthgym.diagnostics") / "templates"
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page = environment.from_string((templates / "traces.html.j2").read_text(encoding="utf-8")).render(
        style=Markup((templates / "report.css").read_text(encoding="utf-8")),
        name=run.path.resolve().name, files=files_shown, notes=notes,
    )  # fmt: skip
    target = Path(out) if out is not None else run.path / "traces.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page, encoding="utf-8")
    return target
