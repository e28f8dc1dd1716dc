"""What is written into conversations as text: calls and tool lists in Hermes markup, and hints."""

import json
from collections.abc import Mapping, Sequence
from typing import Any


def render_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Return one call as a `<tool_call>` block of JSON."""
    body = json.dumps({"name": name, "arguments": dict(arguments)}, ensure_ascii=False, default=str)
    return f"<tool_call>\n{body}\n</tool_call>"


def tools_as_text(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return the tools' schemas and how to call them, for models whose chat template shows no tools."""
    schemas = "\n".join(json.dumps(tool.get("function", tool), ensure_ascii=False) for tool in tools)
    how = '<tool_call>\n{"name": "TOOL", "arguments": {...}}\n</tool_call>'
    return f"Tools, one JSON schema a line:\n{schemas}\n\nWrite each call as:\n{how}"


def with_hint(messages: Sequence[Mapping[str, Any]], hint: str) -> list[Mapping[str, Any]]:
    """Return the messages with the hint as a user message of its own just before the first assistant turn."""
    first = next((i for i, message in enumerate(messages) if message["role"] == "assistant"), len(messages))
    return [*messages[:first], {"role": "user", "content": hint}, *messages[first:]]
