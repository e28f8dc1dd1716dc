"""`write_report`: one self-contained HTML page that shows what a run did and whether it is healthy."""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from healthgym.diagnostics.charts import short
from healthgym.diagnostics.episodes import comparisons
from healthgym.diagnostics.panels import sections
from healthgym.diagnostics.run import Run
from healthgym.diagnostics.trends import window
from healthgym.diagnostics.verdict import Verdict, verdict
from healthgym.files import write_whole

HEADLINES = (
    ("success", "Success", True),
    ("tool_calls", "Tool calls an episode", False),
    ("turns", "Turns an episode", False),
    ("length", "Tokens an episode", False),
    ("hazards", "Hazards an episode", False),
    ("dead_groups", "Dead groups", True),
)
COUNTERS = (
    ("hints_fired", "hints fired", True),
    ("hints_missing", "hints missing", False),
    ("teacher_updates", "teacher updates", True),
    ("tt_opd/teacher_copies", "teacher copies", False),
    ("tt_opd/teacher_paused", "teacher pauses", False),
    ("tt_opd/lambda_ratchets", "lambda ratchets", False),
    ("tt_opd/turns_stopped", "turns stopped by divergence", False),
    ("episode/length_shaping", "length shaping on", False),
)
"""(quantity, label, whether 0 means that something configured never ran)."""
PROBES = (("right", "right hint"), ("shuffled", "shuffled hint"), ("none", "no hint"))


def write_report(run_dir: str | Path, out: str | Path | None = None) -> Path:
    """Write the report of a run and return its path.

    A run that is half-written or still going gets a report of what is there, which says what is missing.

    Args:
        run_dir: The run's folder.
        out: The file to write; RUN_DIR/report.html when None.

    Raises:
        RunFolderError: the folder is missing or holds no run.
    """
    run = Run.load(run_dir)
    target = Path(out) if out is not None else run.path / "report.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    return write_whole(target, render(run, verdict(run)))


def render(run: Run, judged: Verdict) -> str:
    """Return the page as HTML."""
    notes = list(run.notes)
    templates = files("healthgym.diagnostics") / "templates"
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page = environment.from_string((templates / "report.html.j2").read_text(encoding="utf-8"))
    groups = comparisons(run, notes)
    return page.render(
        style=Markup((templates / "report.css").read_text(encoding="utf-8")),
        name=run.path.resolve().name,
        verdict=judged,
        headlines=_headlines(run),
        evaluations=[_evaluation(row) for row in run.evaluations],
        counters=_counters(run),
        probes=_probes(run),
        sections=[(title, [(c, Markup(c.svg())) for c in charts]) for title, charts in sections(run, judged.findings)],
        comparisons=groups,
        config=yaml.safe_dump(dict(run.config), sort_keys=False) if run.config else "",
        preset=run.config.get("preset", ""),
        model=_model(run.config),
        versions=run.versions,
        notes=notes,
        short=short,
    )


def _headlines(run: Run) -> list[dict[str, str]]:
    """Return label, start and end of each headline quantity, as means of the first and last steps."""
    made = []
    for quantity, label, is_share in HEADLINES:
        values = run.series(quantity).values
        if values:
            size = min(len(values), window(len(values)))
            start, end = fmean(values[:size]), fmean(values[-size:])
            shown = [f"{value:.0%}" if is_share else short(value) for value in (start, end)]
            made.append({"label": label, "start": shown[0], "end": shown[1]})
    return made


def _evaluation(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return one evaluation for the table; what it lacks is shown as a dash."""
    low, high = row.get("ci") or (None, None)
    counts = row.get("counts") or {}
    return {
        "label": row.get("label", "evaluation"),
        "success": row.get("success"),
        "low": low,
        "high": high,
        "n": row.get("n"),
        "cells": [_cell(row.get(key)) for key in ("mean_tokens", "mean_turns", "mean_tool_calls", "hazards")],
        "apart": ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count) or "none",
    }


def _cell(value: Any) -> str:
    return short(float(value)) if isinstance(value, int | float) else "–"


def _counters(run: Run) -> list[dict[str, Any]]:
    found = [(label, run.last(quantity), must_run) for quantity, label, must_run in COUNTERS]
    return [
        {"label": label, "value": f"{value:,.0f}", "is_silent": must_run and value == 0}
        for label, value, must_run in found
        if value is not None
    ]


def _probes(run: Run) -> list[dict[str, str]]:
    """Return what the last hint probe measured: success with the right hint, a shuffled one, and none."""
    made = []
    for name, label in PROBES:
        rate, low, high = (run.last(f"probe/{name}{end}") for end in ("", "_low", "_high"))
        if rate is not None:
            interval = f" ({low:.0%} to {high:.0%})" if low is not None and high is not None else ""
            made.append({"label": label, "value": f"{rate:.0%}{interval}"})
    return made


def _model(config: Mapping[str, Any]) -> str:
    model = config.get("model") or {}
    if model.get("path"):
        return str(model["path"])
    tiny = model.get("tiny")
    return f"tiny, {tiny.get('layers', '?')} layers of {tiny.get('hidden_size', '?')}" if tiny else ""
