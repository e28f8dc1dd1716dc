"""Rows and traces as the report's page holds them: compact, bounded, and whatever is left out is counted."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from healthgym.evaluation.rows import LOST, Row
from healthgym.rollout.traces import read_records

MAX_ROWS = 20_000
"""Most rows on a page; those that were not right come first."""
MAX_TEXT = 6_000
"""Most characters of one text; the row's file has it whole."""
MAX_TRACES = 200
"""Most episodes shown turn by turn."""
MAX_TRACE_CHARACTERS = 12_000_000
"""Most characters of all episodes together."""
MAX_CHARACTERS = 24_000_000
"""Most characters of all rows' texts together; later rows keep their first `FEW_CHARACTERS`."""
FEW_CHARACTERS = 200


@dataclass(frozen=True)
class Shown:
    """What the page embeds, and in words what it leaves out."""

    data: Mapping[str, Any]
    left_out: tuple[str, ...]


def outcome_of(row: Row) -> str:
    """Return right, partly, wrong, unanswered or lost."""
    if row.score is None:
        return "lost" if row.status in LOST else "unanswered"
    return "right" if row.score == 1.0 else "wrong" if row.score == 0.0 else "partly"


def shown_rows(rows: Sequence[Row], items: Mapping[str, Any], traces: Path) -> Shown:
    """Return the rows, with their items' contents and the traces of those that were not right.

    Args:
        rows: All rows of the evaluation.
        items: Content of items by id, as far as known.
        traces: The file of episodes; it need not be there.
    """
    left_out: list[str] = []
    ordered = sorted(rows, key=lambda row: row.score == 1.0)  # stable: those not right first, each in their order
    if len(ordered) > MAX_ROWS:
        left_out.append(
            f"{len(ordered) - MAX_ROWS:,} of {len(ordered):,} rows, right ones first, to keep the page quick"
        )
        ordered = ordered[:MAX_ROWS]
    texts = _Texts()
    made = [_row(row, items.get(row.id), texts) for row in ordered]
    if texts.cut:
        left_out.append(f"the ends of {texts.cut:,} texts; rows.jsonl has them whole")
    episodes, note = _episodes(ordered, traces)
    return Shown({"rows": made, **episodes}, tuple(left_out + note))


class _Texts:
    """Cuts texts to what the page has room for, and counts how many were cut."""

    def __init__(self) -> None:
        self.left, self.cut = MAX_CHARACTERS, 0

    def __call__(self, text: str) -> str:
        most = min(MAX_TEXT, max(FEW_CHARACTERS, self.left))
        self.left -= min(len(text), most)
        if len(text) <= most:
            return text
        self.cut += 1
        return f"{text[:most]}\n[... {len(text) - most:,} more characters]"

    def within(self, value: Any) -> Any:
        """Return JSON-like data with every text in it cut."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {str(name): self.within(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.within(each) for each in value]
        return value


def _row(row: Row, content: Any, texts: _Texts) -> dict[str, Any]:
    """Return a row without what is empty; `k` is its outcome and `t` its place among the traces, set later."""
    made: dict[str, Any] = {"id": row.id, "s": row.status, "k": outcome_of(row)}
    fields = {
        "a": row.attempt, "v": row.score, "x": dict(row.scores), "g": dict(row.strata), "p": row.prediction,
        "y": row.gold, "o": row.output, "n": row.tokens, "u": row.turns, "c": row.tool_calls, "h": row.hazards,
        "d": dict(row.detail), "e": row.error, "q": content, "w": row.seed,
    }  # fmt: skip
    for name, value in fields.items():
        if value not in (None, "", {}, 0) or name == "v":
            made[name] = texts.within(value)
    return made


def _episodes(rows: Sequence[Row], traces: Path) -> tuple[dict[str, Any], list[str]]:
    """Return system prompts and traces of rows that were not right, hazards first, and what is left out of them."""
    if not traces.is_file():
        return {"systems": [], "traces": {}}, []
    wanted = {row.key: row for row in rows if row.score != 1.0}
    ranked = sorted(wanted.values(), key=lambda row: (not row.hazards, row.status in LOST))
    chosen = {row.key for row in ranked[:MAX_TRACES]}
    systems: dict[str, int] = {}
    made: dict[str, str] = {}
    found: set[tuple[str, int]] = set()
    for key, record in _records(traces):
        if key in wanted:
            found.add(key)
        if key in chosen:
            try:
                made[f"{key[0]}\t{key[1]}"] = _dump(_trace(record, systems))  # of equal keys the last counts
            except (AttributeError, TypeError, ValueError):  # edited by hand: among those left out
                continue
    kept, used = {}, 0
    for name, text in made.items():
        used += len(text)
        if used <= MAX_TRACE_CHARACTERS:
            kept[name] = json.loads(text)
    note = []
    if len(kept) < len(found):
        note.append(
            f"{len(found) - len(kept):,} of {len(found):,} episodes that were not right, those with hazards being kept "
            "first; traces.jsonl has them all"
        )
    return {"systems": list(systems), "traces": kept}, note


def _records(traces: Path) -> Iterator[tuple[tuple[str, int], Mapping[str, Any]]]:
    for record in read_records(traces):
        extra = record.get("extra") or {}
        if "messages" in record and "grade" in record and isinstance(extra, Mapping):
            attempt = extra.get("attempt", 0)
            if isinstance(attempt, int):
                yield (str(extra.get("item", record.get("task_id"))), attempt), record


def _trace(record: Mapping[str, Any], systems: dict[str, int]) -> dict[str, Any]:
    grade = record["grade"]
    lines = []
    system = None
    for message in record["messages"]:
        text = _text(message.get("content"))
        if message.get("role") == "system":
            system = systems.setdefault(_cut(text), len(systems))
            continue
        line: dict[str, Any] = {"r": message.get("role"), "t": _cut(text)}
        if message.get("name"):
            line["n"] = message["name"]
        calls = [call.get("function", call) for call in message.get("tool_calls") or ()]
        if calls:
            line["c"] = [[str(call.get("name", "?")), _arguments(call.get("arguments", {}))] for call in calls]
        lines.append(line)
    return {
        "system": system, "lines": lines, "stop": record.get("stop_reason"), "reward": record.get("reward"),
        "minutes": record.get("minutes"), "failures": record.get("tool_failures"), "outcome": grade.get("outcome"),
        "scores": grade.get("scores", {}), "parts": grade.get("parts", {}), "evidence": grade.get("evidence_share"),
        "missing": list(grade.get("missing_evidence", ())), "hazards": list(grade.get("hazards", ())),
    }  # fmt: skip


def _arguments(arguments: Any) -> str:
    if not isinstance(arguments, Mapping):
        return _cut(str(arguments))
    return _cut(", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items()))


def _text(content: Any) -> str:
    """Return a message's text; an image is named where it stood."""
    if isinstance(content, str) or not content:
        return content or ""
    blocks = [block for block in content if isinstance(block, Mapping)]
    return "\n".join(str(block.get("text") or f"[{block.get('type', 'block')}]") for block in blocks)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n[... {len(text) - MAX_TEXT:,} more characters]"


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def embedded(value: Any) -> str:
    """Return JSON that is safe inside a script element, whatever texts it holds; half surrogate pairs are replaced."""
    text = _dump(value).encode("utf-8", "replace").decode("utf-8")
    for character, escape in (
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("&", "\\u0026"),
        ("\u2028", "\\u2028"),
        ("\u2029", "\\u2029"),
    ):
        text = text.replace(character, escape)
    return text
