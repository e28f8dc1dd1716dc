"""An episode as a person sees it in a terminal: the case, each reply, clock and budget, what is known, the end."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.style import Style
from rich.table import Table
from rich.text import Text

from healthgym.envs.episode import Episode
from healthgym.errors import ToolError
from healthgym.rewards import Grade
from healthgym.tasks import Call
from healthgym.toolkit import ToolSpec

_IMAGE = re.compile(r"\[image ([^:\]]+):")
_EFFECTS = {"read": "dim", "think": "dim", "write": "yellow", "submit": "green"}
_SHADES = " .:-=+*#%@"
"""From black to white, for terminals and drawings without colours."""


def opening(episode: Episode, *, colour: bool = True) -> RenderableType:
    """Return the case as it is put to whoever plays: prompt, pictures, clock and budget."""
    task = episode.task
    heading = f"[bold]{episode.domain.title}[/]  [dim]{task.id}, {task.difficulty}[/]"
    text = str(episode.messages[-1]["content"])
    body = Group(Text(text), *_pictures(text, episode, colour))
    return Group(Panel(body, title=heading, title_align="left", padding=(1, 2)), clock(episode))


def reply(observation: str, episode: Episode, *, colour: bool = True, lines: int = 0) -> Group:
    """Return what one call brought: errors, results that became ready and events stand out.

    Args:
        observation: What the environment answered.
        episode: After the call.
        colour: Whether pictures may be drawn in colours.
        lines: Most lines of the answer that are shown; all when 0.
    """
    told = observation.splitlines()
    shown = _first(told, lines) if lines else told
    text = Text("\n").join(_line(line) for line in shown)
    if shown != told:
        text.append(" ...", style="dim")
    return Group(Padding(Group(text, *_pictures(observation, episode, colour)), (0, 0, 0, 2)), clock(episode))


def _first(told: list[str], lines: int) -> list[str]:
    """Return as much of a text as fits into a number of lines of about 90 letters."""
    left, shown = lines * 90, []
    for line in told:
        if left <= 0:
            break
        shown.append(line[:left])
        left -= max(len(line), 90)
    return shown


def typed(call: Mapping[str, Any]) -> str:
    """Return a call as a person would type it: tool key=value key='some words'."""
    words = []
    for name, value in call["arguments"].items():
        told = value if isinstance(value, str) and not _reads_as_json(value) else json.dumps(value, ensure_ascii=False)
        plain = isinstance(value, str | int | float) and not set(" '\"\\$") & set(told)
        words.append(f"{name}={told}" if plain else f"{name}={_quoted(told)}")
    return " ".join([str(call["name"]), *words])


def _reads_as_json(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return "," in text and " " not in text  # would be read as a list
    return True


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _line(line: str) -> Text:
    if line.startswith("Error:"):
        return Text(line, style="yellow")
    if line.startswith("[result "):
        return Text(line, style="green")
    return Text(line)


def clock(episode: Episode) -> Text:
    """Return one line on time and budget, and on what is being waited for."""
    world, budget = episode.world, episode.budget
    used = [
        ("minute", world.minutes, budget.minutes),
        ("turn", episode.turns, episode.max_turns),
        ("call", len(world.calls), budget.tool_calls),
        ("cost", world.cost, budget.cost),
    ]
    line = Text(style="dim", overflow="fold")
    for name, value, limit in used:
        if name == "cost" and not value and limit is None:
            continue
        line.append(" | " if line else "")
        near = limit is not None and value >= 0.8 * limit
        line.append(
            f"{name} {value:g}" + (f" of {limit:g}" if limit is not None else ""), style="yellow" if near else ""
        )
    waiting = [order for order in world.orders.values() if order.due_at > world.minutes]
    if waiting:
        told = ", ".join(f"{order.item} of {order.patient_id} at minute {order.due_at:g}" for order in waiting)
        line.append(f"\nwaiting for {told}", style="cyan")
    return line


def tool_list(episode: Episode) -> RenderableType:
    """Return the tools of this task, its domain's own first, each as it is typed and with the first words about it."""
    table = Table(box=None, header_style="dim", padding=(0, 1, 0, 0))
    for name in ("tool and its arguments", "what it does", ""):
        table.add_column(name, overflow="fold")
    home = episode.domain.name
    for spec in sorted(episode.permitted.values(), key=lambda spec: (spec.effect == "submit", spec.domain != home)):
        required = spec.parameters.get("required", [])
        arguments = [name if name in required else f"[{name}]" for name in spec.parameters["properties"]]
        call = Text(spec.name, style="bold cyan").append(" " + " ".join(arguments), style="not bold default")
        table.add_row(
            call, spec.description.split(". ")[0].split("\n")[0], Text(spec.effect, style=_EFFECTS[spec.effect])
        )
    return table


def tool_help(spec: ToolSpec) -> RenderableType:
    """Return what a tool does and what its arguments may be; an argument in brackets may be left out."""
    table = Table(box=None, header_style="dim", padding=(0, 1, 0, 0))
    for name in ("argument", "takes", "meaning"):
        table.add_column(name, overflow="fold")
    for name, schema in spec.parameters["properties"].items():
        shown = name if name in spec.parameters.get("required", []) else f"[{name}]"
        table.add_row(Text(shown), Text(_takes(schema)), Text(str(schema.get("description", ""))))
    spent = [f"{spec.minutes:g} min"] * bool(spec.minutes) + [f"cost {spec.cost:g}"] * bool(spec.cost)
    return Group(Text(spec.description), Text(", ".join([spec.effect, *spent]), style="dim"), table)


def _takes(schema: Mapping[str, Any]) -> str:
    """Return in a few words what values an argument's JSON schema allows."""
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list: {_takes(schema.get('items', {}))}"
    low, high = (schema.get(f"{end}imum", schema.get(f"exclusive{end.capitalize()}imum")) for end in ("min", "max"))
    limits = [f"from {low:g}"] * (low is not None) + [f"to {high:g}"] * (high is not None)
    return " ".join([{"string": "text"}.get(str(schema.get("type")), str(schema.get("type", "any value"))), *limits])


def known(episode: Episode) -> RenderableType:
    """Return everything learnt so far, one table a patient, in the order it was learnt."""
    by_patient: dict[str, list[Any]] = {}
    for fact in episode.world.facts.values():
        by_patient.setdefault(fact.key.partition(".")[0], []).append(fact)
    if not by_patient:
        return Text("Nothing is known yet. Ask, examine, read or order something.", style="dim")
    tables = []
    for patient, facts in by_patient.items():
        table = Table(
            title="Looked up" if patient == "kb" else patient,
            title_justify="left",
            title_style="bold",
            header_style="dim",
            box=None,
        )
        for name, justify in (("fact", "left"), ("value", "left"), ("minute", "right")):
            table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
        for fact in facts:
            key = fact.key.partition(".")[2] or fact.key
            table.add_row(key.replace("_", " "), f"{_plain(fact.value)} {fact.unit}".strip(), f"{fact.minutes:g}")
        tables.append(table)
    return Group(*tables, clock(episode))


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def ending(episode: Episode, grade: Grade, reward: float) -> RenderableType:
    """Return the verdict, the scores, what went wrong, and the calls that earn full marks."""
    scores = Table(box=None, header_style="dim")
    scores.add_column("score")
    scores.add_column("", justify="left")
    scores.add_column("value", justify="right")
    for name, value in grade.scores.items():
        scores.add_row(name, Text("#" * round(20 * value), style="green" if value == 1 else "yellow"), f"{value:.2f}")
    faults = [Text(f"Hazard ({hit.severity}): {hit.label}", style="red") for hit in grade.hazards]
    faults += [Text(f"Not looked at: {label}", style="yellow") for label in grade.missing_evidence]
    faults += [Text(f"Not met: {name}", style="yellow") for name, credit in grade.parts.items() if credit != 1]
    verdict = Text("Success" if grade.success else "No success", style="bold green" if grade.success else "bold red")
    verdict.append(
        f"  reward {reward:.3f}, ended {str(episode.stop_reason).replace('_', ' ')}", style="not bold default"
    )
    parts: list[RenderableType] = [verdict, scores, *faults]
    if not grade.success:
        parts += [Text("One way to full marks:", style="dim"), *_solution(episode.task.solution)]
    return Panel(Group(*parts), title="The end", title_align="left", padding=(1, 2))


def _solution(calls: tuple[Call, ...]) -> Iterator[Text]:
    for call in calls:
        yield Text(f"  {typed({'name': call.tool, 'arguments': dict(call.arguments)})}", style="dim", overflow="fold")


def _pictures(text: str, episode: Episode, colour: bool) -> list[RenderableType]:
    """Return the pictures that a text speaks of, small enough for a terminal; the tools work on all of their pixels."""
    drawn: list[RenderableType] = []
    for image_id in dict.fromkeys(_IMAGE.findall(text)):
        try:
            pixels = episode.toolkit.picture(image_id).pixels
        except ToolError:
            continue  # the text speaks of an image that this task does not have
        drawn.append(_in_colours(pixels) if colour else _in_letters(pixels))
    return drawn


def _in_colours(pixels: Any, columns: int = 64) -> Text:
    """Draw uint8 pixels, (h, w) or (h, w, 3), with two rows of colour in each line of text."""
    small = _shrunk(pixels, columns, rows_a_column=1.0)
    if small.ndim == 2:
        small = np.repeat(small[:, :, None], 3, axis=2)
    small = small[: len(small) // 2 * 2]
    text = Text(no_wrap=True)
    for upper, lower in zip(small[::2], small[1::2], strict=True):
        for top, bottom in zip(upper, lower, strict=True):
            text.append("▀", Style(color=_rgb(top), bgcolor=_rgb(bottom)))
        text.append("\n")
    return text


def _rgb(pixel: Any) -> str:
    return f"rgb({pixel[0]},{pixel[1]},{pixel[2]})"


def _in_letters(pixels: Any, columns: int = 56) -> Text:
    """Draw uint8 pixels, (h, w) or (h, w, 3), in ten shades of letters from their darkest to their brightest."""
    small = _shrunk(pixels, columns, rows_a_column=0.5)
    grey = small if small.ndim == 2 else small @ np.array([0.299, 0.587, 0.114])  # luma, ITU-R BT.601
    darkest, span = float(grey.min()), max(1.0, float(grey.max() - grey.min()))
    shades = ((grey - darkest) / span * (len(_SHADES) - 1)).round().astype(int)
    return Text("\n".join("".join(_SHADES[shade] for shade in row).rstrip() for row in shades), no_wrap=True)


def _shrunk(pixels: Any, columns: int, rows_a_column: float) -> Any:
    """Return the means of blocks of pixels, at most `columns` wide, so that thin lines and small cells do not vanish."""
    height, width = pixels.shape[:2]
    columns = min(columns, width)
    rows = max(2, min(height, round(height / width * columns * rows_a_column)))
    across = np.linspace(0, width, columns + 1).astype(int)[:-1]
    down = np.linspace(0, height, rows + 1).astype(int)[:-1]
    sums = np.add.reduceat(np.add.reduceat(pixels.astype(float), down, axis=0), across, axis=1)
    area = np.outer(np.diff([*down, height]), np.diff([*across, width]))
    return np.round(sums / (area if pixels.ndim == 2 else area[:, :, None])).astype(np.uint8)
