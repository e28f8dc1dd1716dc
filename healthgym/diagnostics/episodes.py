"""Episodes of one group side by side: the same task, attempted several times, with what each attempt earned and why."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from healthgym.diagnostics.run import Run, read_lines

MAX_SHOWN = 3
MAX_TEXT = 900
Record = Mapping[str, Any]


@dataclass(frozen=True)
class Comparison:
    """Some attempts of one group, best first, and where they come from."""

    source: str
    task_id: str
    attempts: int
    prompt: str
    episodes: tuple[Mapping[str, Any], ...]


def comparisons(run: Run, notes: list[str]) -> list[Comparison]:
    """Return one group of the first trace file and one of the last, each the most instructive of its file."""
    files = [run.traces[0], run.traces[-1]] if len(run.traces) > 1 else list(run.traces)
    made = [_comparison(file, notes) for file in files]
    return [comparison for comparison in made if comparison is not None]


def traced_groups(file: Path, notes: list[str]) -> list[Comparison]:
    """Return every group of a trace file, all its attempts, best first."""
    return [_shown(file, group, whole=True) for group in _groups(file, notes)]


def _comparison(file: Path, notes: list[str]) -> Comparison | None:
    groups = _groups(file, notes)
    return _shown(file, max(groups, key=_instructive)) if groups else None


def _groups(file: Path, notes: list[str]) -> list[list[Record]]:
    groups: dict[tuple[str, int], list[Record]] = {}
    for record in read_lines(file, notes):
        if "grade" in record and "messages" in record:
            groups.setdefault((str(record.get("task_id")), int(record.get("group", 0))), []).append(record)
    if not groups:
        notes.append(f"traces/{file.name} holds no finished episode")
    return list(groups.values())


def _shown(file: Path, group: Sequence[Record], *, whole: bool = False) -> Comparison:
    ranked = sorted(group, key=lambda record: -float(record.get("reward", 0.0)))
    few = len(ranked) <= MAX_SHOWN or whole
    shown = ranked if few else [ranked[0], ranked[len(ranked) // 2], ranked[-1]]
    prompt = _text(next((m["content"] for m in shown[0]["messages"] if m.get("role") == "user"), ""))
    return Comparison(file.stem, str(group[0]["task_id"]), len(group), prompt, tuple(map(_episode, shown)))


def _instructive(group: Sequence[Record]) -> tuple[float, int]:
    """Order groups by the spread of their rewards, then by how much was done."""
    rewards = [float(record.get("reward", 0.0)) for record in group]
    return max(rewards) - min(rewards), sum(len(record.get("tool_calls", ())) for record in group)


def _episode(record: Record) -> dict[str, Any]:
    grade = record["grade"]
    started = False
    lines: list[dict[str, Any]] = []
    for message in record["messages"]:
        started = started or message.get("role") == "assistant"
        if started:
            lines += _lines(message)
    return {
        "reward": float(record.get("reward", 0.0)),
        "success": bool(grade.get("success")),
        "outcome": str(grade.get("outcome", "")).replace("_", " "),
        "stop_reason": str(record.get("stop_reason", "")).replace("_", " "),
        "turns": record.get("num_turns", 0),
        "tokens": record.get("assistant_tokens", 0),
        "calls": len(record.get("tool_calls", ())),
        "failures": record.get("tool_failures", 0),
        "scores": dict(grade.get("scores", {})),
        "evidence_share": float(grade.get("evidence_share", 0.0)),
        "missing": list(grade.get("missing_evidence", ())),
        "hazards": [f"{hit['label']} ({hit['severity']})" for hit in grade.get("hazards", ())],
        "lines": lines,
    }


def _lines(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one message as lines of the transcript: prose, calls and answers apart."""
    role, text = message.get("role"), _text(message.get("content"))
    if role == "assistant":
        said = [{"kind": "said", "text": _cut(text)}] if text.strip() else []
        calls = [call.get("function", call) for call in message.get("tool_calls", ())]
        return said + [{"kind": "call", "name": call.get("name", "?"), "text": _arguments(call)} for call in calls]
    if role == "tool":
        kind = "error" if text.startswith("Error:") else "result"
        return [{"kind": kind, "name": message.get("name", ""), "text": _cut(text)}]
    return [{"kind": "note", "text": _cut(text)}]


def _arguments(call: Mapping[str, Any]) -> str:
    arguments = call.get("arguments", {})
    if not isinstance(arguments, Mapping):
        return _cut(str(arguments))
    return _cut(", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items()))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(str(block.get("text", "")) for block in content or () if isinstance(block, Mapping))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} ... ({len(text):,} characters)"
