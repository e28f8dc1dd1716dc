"""`write_comparison`: one self-contained HTML page that lays runs beside each other."""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from healthgym.diagnostics.charts import Chart, Curve, short
from healthgym.diagnostics.comparison import Comparison, Ending
from healthgym.diagnostics.run import Run
from healthgym.files import write_whole

MAX_RUNS = 8
"""Colours there are."""
SHARES = ("success", "held_out", "clipped", "single_turn", "dead_groups")
OVERLAID: tuple[tuple[str, str, str], ...] = (
    ("success", "Success", "On training episodes."),
    ("held_out", "Held-out success", "On the same validation tasks each time."),
    ("reward", "Reward", "What the trainer sees."),
    ("length", "Length", "Assistant tokens an episode."),
    ("turns", "Turns", "An episode."),
    ("tool_calls", "Tool calls", "An episode."),
    ("clipped", "Clipped", "Share of episodes that ran into a token limit."),
    ("single_turn", "Single-turn episodes", "Share that ended in their first turn."),
    ("hazards", "Hazards", "An episode."),
    ("dead_groups", "Dead groups", "Share of groups without spread of reward."),
    ("kl", "Divergence", "Nats a token between student and teacher."),
    ("lambda", "Lambda", "Weight of the distillation term."),
    ("grad_norm", "Gradient norm", "Of the whole loss."),
    ("step_time", "Step time", "Seconds of computing a step; episodes included."),
)
"""Quantity, title and caption of each chart."""
LABELS = {
    "success": "Success", "reward": "Reward", "length": "Tokens", "turns": "Turns", "tool_calls": "Tool calls",
    "clipped": "Clipped", "hazards": "Hazards", "kl": "Divergence, nats", "lambda": "Lambda",
    "step_time": "Step time, s",
}  # fmt: skip


def write_comparison(comparison: Comparison, out: str | Path) -> Path:
    """Write the page and return its path; folders on the way are made."""
    target = Path(out)
    target.parent.mkdir(parents=True, exist_ok=True)
    return write_whole(target, comparison_html(comparison))


def comparison_html(comparison: Comparison) -> str:
    """Return the page as HTML."""
    templates = files("healthgym.diagnostics") / "templates"
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page = environment.from_string((templates / "comparison.html.j2").read_text(encoding="utf-8"))
    charts = overlays(comparison)
    return page.render(
        style=Markup((templates / "report.css").read_text(encoding="utf-8")),
        columns=_columns(comparison),
        charts=[(chart, Markup(chart.svg())) for chart in charts],
        settings=[(key, [_value(value) for value in values]) for key, values in comparison.settings.items()],
        endings=[
            (LABELS[quantity], [_ending(one, quantity in SHARES) for one in found])
            for quantity, found in comparison.endings.items()
        ],
        pairs=[_pair(pair) for pair in comparison.pairs],
        notes=[
            f"{name}: {note}" for name, run in zip(comparison.names, comparison.runs, strict=True) for note in run.notes
        ],
    )


def overlays(comparison: Comparison) -> list[Chart]:
    """Return a chart of each quantity that some run logged, one curve a run, in the runs' colours."""
    made = []
    for quantity, title, caption in OVERLAID:
        curves = tuple(
            Curve(name, series, _colour(at))
            for at, (name, run) in enumerate(zip(comparison.names, comparison.runs, strict=True))
            if (series := run.series(quantity))
        )
        if curves:
            made.append(Chart(title, caption, curves, is_share=quantity in SHARES))
    return made


def _colour(at: int) -> str:
    return f"c{at + 1}" if at < MAX_RUNS else "other"


def _columns(comparison: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "colour": _colour(at),
            "status": judged.status,
            "steps": judged.steps,
            "preset": run.config.get("preset", ""),
            "findings": [finding for finding in judged.findings if finding.severity != "note"],
            "evaluation": _evaluation(run),
        }
        for at, (name, run, judged) in enumerate(
            zip(comparison.names, comparison.runs, comparison.verdicts, strict=True)
        )
    ]


def _evaluation(run: Run) -> dict[str, Any] | None:
    """Return the last held-out evaluation of a run."""
    row = run.evaluations[-1] if run.evaluations else None
    if row is None or row.get("success") is None:
        return None
    low, high = row.get("ci") or (row["success"], row["success"])
    return {"label": row.get("label", ""), "success": row["success"], "low": low, "high": high, "n": row.get("n", "–")}


def _ending(found: Ending | None, is_share: bool) -> dict[str, str] | None:
    if found is None:
        return None
    mean, low, high = (f"{value:.0%}" if is_share else short(value) for value in (found.mean, found.low, found.high))
    return {"mean": mean, "interval": f"{low} to {high}"}


def _pair(pair: Mapping[str, Any]) -> dict[str, Any]:
    low, high = pair["ci"]
    return {
        **{key: pair[key] for key in ("first", "second", "n", "gained", "lost")},
        "labels": _same(pair["labels"]),
        "difference": f"{pair['difference'] * 100:+.1f}",
        "interval": f"{low * 100:+.1f} to {high * 100:+.1f}",
        "p_value": f"{pair['p_value']:.3f}" if pair["p_value"] >= 0.001 else "< 0.001",
        "is_clear": low > 0 or high < 0,
        "needed": pair.get("required_n") or "–",
    }


def _same(labels: Sequence[str]) -> str:
    return labels[0] if len(set(labels)) == 1 else " and ".join(labels)


def _value(value: Any) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
