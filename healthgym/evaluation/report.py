"""The report: one HTML page of an evaluation that needs no network, with its numbers and what went wrong, row by row."""

from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from healthgym.evaluation.axis import Mark, axis
from healthgym.evaluation.folder import TRACES
from healthgym.evaluation.items import Item
from healthgym.evaluation.report_rows import embedded, shown_rows
from healthgym.evaluation.stored import Stored, read_items, write_items
from healthgym.evaluation.summary import summarise_rows
from healthgym.files import write_whole

STATUS_WORDS = (
    ("answered", "ended in an answer that was scored"),
    ("refused", "declined to answer"),
    ("degenerate", "fell apart into repeated or foreign text"),
    ("truncated", "ran into a limit before an answer"),
    ("unparsed", "holds no answer that could be read"),
    ("grader_error", "could not be scored, our fault; in no score"),
    ("infra_error", "lost to the infrastructure; in no score"),
)


def write_report(folder: str | Path, out: str | Path | None = None, *, items: Iterable[Item] | None = None) -> Path:
    """Write the report of an evaluation and return its path; FOLDER/report.html when `out` is None.

    Args:
        folder: The evaluation's folder.
        out: The file to write.
        items: What was asked; kept in the folder as items.jsonl, so that a later report shows it as well.

    Raises:
        ConfigError: The folder holds no evaluation.
    """
    stored = Stored.load(folder)
    if items is not None:
        write_items(stored.path, items, {row.id for row in stored.rows})
    target = Path(out) if out is not None else stored.path / "report.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    return write_whole(target, render(stored, read_items(stored.path)))


def render(stored: Stored, items: Mapping[str, Any]) -> str:
    """Return the page as HTML."""
    result = stored.result or _result_of(stored)
    title, _, note = (result.get("title") or stored.suite).partition(". ")  # what follows is an attribution
    shown = shown_rows(stored.rows, items, stored.path / TRACES)
    page = page_template("evaluation.html.j2").render(
        style=page_style(),
        script=Markup((files("healthgym.evaluation") / "templates" / "evaluation.js").read_text(encoding="utf-8")),
        data=Markup(embedded(shown.data)),
        name=stored.name,
        result=result,
        title=title,
        note=note,
        chart=Markup(_chart(result)),
        statuses=[(name, said, result["counts"].get(name, 0)) for name, said in STATUS_WORDS],
        total=sum(result["counts"].values()),
        strata={name: values for name, values in result["strata"].items() if len(values) > 1},
        trust=_trust(result),
        left_out=shown.left_out,
        beyond=len(stored.rows) - sum(result["counts"].values()),
        has_traces=bool(shown.data["traces"]),
        score=_share,
        around=_interval,
    )
    return page.encode("utf-8", "replace").decode("utf-8")


def page_template(name: str) -> Any:
    """Return a template of this package that escapes what it is given."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text = (files("healthgym.evaluation") / "templates" / name).read_text(encoding="utf-8")
    return environment.from_string(text)


def page_style() -> Markup:
    """Return the style sheet: that of training reports, and what evaluations add."""
    shared = files("healthgym.diagnostics") / "templates" / "report.css"
    own = files("healthgym.evaluation") / "templates" / "evaluation.css"
    return Markup(shared.read_text(encoding="utf-8") + own.read_text(encoding="utf-8"))


def _result_of(stored: Stored) -> dict[str, Any]:
    """Return a result summed up anew for a folder whose run was cut before it wrote one."""
    candidate = stored.identity.get("candidate") or {}
    return summarise_rows(
        stored.rows,
        suite=stored.suite,
        mode=stored.mode,
        hashes={**candidate.get("hashes", {}), "items": str(stored.identity.get("items", ""))},
        scorer=str(stored.identity.get("scorer", "")),
        engine=str(candidate.get("engine", "")),
        sampling=candidate.get("sampling"),
        settings=stored.identity.get("settings"),
        partial=True,
    ).to_dict()


def _chart(result: Mapping[str, Any]) -> str:
    marks = [
        Mark(label, result[f"score{ending}"], _pair(result[f"ci{ending}"]), is_main=not ending)
        for label, ending in (("answered rows", ""), ("all rows", "_all"))
        if result[f"score{ending}"] is not None
    ]
    for what, sign in (("pass_at_k", "@"), ("pass_hat_k", "^")):
        for k, found in result.get(what, {}).items():
            if k != "1" and found["value"] is not None:
                marks.append(Mark(f"pass{sign}{k}", found["value"], _pair(found["ci"])))
    floors = [(floor["name"], floor["score"]) for floor in result["floors"] if floor["score"] is not None]
    return axis(marks, floors) if marks else ""


def _trust(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (name, value) of what the result rests on; what is not known is left out."""
    plain = [
        ("scorer", result["scorer"]), ("engine", result["engine"]), ("healthgym", result.get("healthgym", "")),
        *((f"hash of {name}", value) for name, value in result["hashes"].items()),
        ("index", _words(result.get("index"))), ("sampling", _words(result["sampling"])),
        ("settings", _words(result["settings"])), ("seeds", _seeds(result["seeds"])),
        ("machine", _words(result["machine"])),
        ("time", f"{result['seconds']:,.0f} s" if result.get("seconds") else ""),
    ]  # fmt: skip
    return [(name, str(value)) for name, value in plain if value not in ("", None)]


def _words(values: Any) -> str:
    if not isinstance(values, Mapping):
        return "" if values is None else str(values)
    return ", ".join(f"{name} {_words(value)}" for name, value in values.items() if value not in (None, "", {}))


def _seeds(seeds: list[int]) -> str:
    shown = ", ".join(map(str, seeds[:12]))
    return f"{shown} and {len(seeds) - 12:,} more" if len(seeds) > 12 else shown


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value * 100:.1f} %"


def _interval(bounds: Any) -> str:
    return "–" if bounds is None else f"{bounds[0] * 100:.1f} to {bounds[1] * 100:.1f}"


def _pair(bounds: Any) -> tuple[float, float] | None:
    return None if bounds is None else (float(bounds[0]), float(bounds[1]))
