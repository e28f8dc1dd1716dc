"""Reads tool calls out of an assistant message, in the native formats of the model families people train.

Formats: Hermes/Qwen JSON (`<tool_call>{"name": ..., "arguments": {...}}</tool_call>`), Qwen-coder XML
(`<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>`) and Llama 3 JSON
(`{"name": ..., "parameters": {...}}`, with or without `<|python_tag|>`). This is the only reader of calls in healthgym.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_BLOCK = re.compile(r"<tool_call>(.*?)(</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"<function=([^>\s]+)>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\s]+)>\n?(.*?)\n?(?:</parameter>|(?=<parameter=)|\Z)", re.DOTALL)
_THINK = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_SPECIAL = re.compile(r"<\|(?:im_end|im_start|eot_id|eom_id|endoftext|end_of_text|begin_of_text)\|>")
_HOW = 'Write each call as <tool_call>{"name": "TOOL", "arguments": {...}}</tool_call>.'
MAX_CALLS = 16
"""Most calls read from one message; the rest is reported as a problem."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call as the model wrote it."""

    name: str
    arguments: Mapping[str, Any]
    id: str = ""


@dataclass(frozen=True, slots=True)
class Action:
    """One assistant message, read: prose, well-formed calls in order, and what could not be read."""

    content: str
    calls: tuple[ToolCall, ...] = ()
    problems: tuple[str, ...] = ()
    """One helpful sentence for each call that was meant but cannot be read."""


def parse_action(message: str | Mapping[str, Any]) -> Action:
    """Read an assistant message: text with native markup, or {"content", "tool_calls"} as chat APIs give it.

    Reasoning between `<think>` marks is prose of the agent's own and is never read for calls.
    """
    if isinstance(message, Mapping):
        return _from_mapping(message)
    text = _SPECIAL.sub("", _THINK.sub("", message))
    if "<tool_call>" in text:
        return _from_blocks(text)
    if "<function=" in text:
        return _from_xml(text)
    return _from_llama(text)


def _from_mapping(message: Mapping[str, Any]) -> Action:
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = " ".join(str(block.get("text", "")) for block in content if isinstance(block, Mapping))
    entries = message.get("tool_calls") or ()
    if not entries:
        return parse_action(content)
    calls, problems = [], []
    for entry in entries:
        function = entry.get("function", entry) if isinstance(entry, Mapping) else {}
        arguments = function.get("arguments", {})
        if isinstance(arguments, str):
            arguments = _json(arguments) if arguments.strip() else {}
        name = function.get("name")
        if not isinstance(name, str) or not isinstance(arguments, dict):
            problems.append(f"A tool call lacks a name or a JSON object of arguments. {_HOW}")
            continue
        calls.append(ToolCall(name, arguments, str(entry.get("id", ""))))
    return _limited(content, calls, problems)


def _from_blocks(text: str) -> Action:
    calls: list[ToolCall] = []
    problems: list[str] = []
    for block in _BLOCK.finditer(text):
        body = block[1].strip()
        if body.startswith("<function="):
            found = _from_xml(body)
            calls.extend(found.calls)
            problems.extend(found.problems)
            continue
        value = _json(_strip_fence(body))
        call = _as_call(value)
        if call is None:
            problems.append(f"A tool call could not be read: {_diagnose(body, value, closed=bool(block[2]))} {_HOW}")
        else:
            calls.append(call)
    return _limited(_BLOCK.sub("", text).strip(), calls, problems)


def _from_xml(text: str) -> Action:
    calls = []
    for name, body in _FUNCTION.findall(text):
        arguments = {key: _literal(value) for key, value in _PARAMETER.findall(body)}
        calls.append(ToolCall(name, arguments))
    problems = (
        []
        if calls
        else [
            "A <function=...> call could not be read. Write <function=TOOL><parameter=KEY>VALUE</parameter></function>."
        ]
    )
    return _limited(_FUNCTION.sub("", text).replace("<tool_call>", "").strip(), calls, problems)


def _from_llama(text: str) -> Action:
    body = text.replace("<|python_tag|>", "").strip()
    if not body.startswith(("{", "[")):
        return Action(text.strip())
    parts = [value for value in (_json(part) for part in _split_objects(body)) if value is not None]
    entries = [item for value in parts for item in (value if isinstance(value, list) else [value])]
    calls = [call for call in map(_as_call, entries) if call is not None]
    if calls and len(calls) == len(entries):
        return _limited("", calls, [])
    if '"name"' in body:
        return _limited(
            "", calls, [f"A tool call could not be read: {_diagnose(body, parts[0] if parts else None, True)} {_HOW}"]
        )
    return Action(text.strip())


def _split_objects(body: str) -> list[str]:
    """Split `{...}; {...}` or newline-separated objects into their texts."""
    decoder, position, parts = json.JSONDecoder(), 0, []
    while position < len(body):
        try:
            _, end = decoder.raw_decode(body, position)
        except (ValueError, RecursionError):
            break
        parts.append(body[position:end])
        position = end
        while position < len(body) and body[position] in " ;,\n\t":
            position += 1
    return parts


def _as_call(value: Any) -> ToolCall | None:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    arguments = value.get("arguments", value.get("parameters", {}))
    if isinstance(arguments, str):
        arguments = _json(arguments)
    if not isinstance(arguments, dict):
        return None
    return ToolCall(value["name"], arguments)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _literal(value: str) -> Any:
    parsed = _json(value)
    return value if parsed is None and value.strip() != "null" else parsed


def _strip_fence(body: str) -> str:
    return re.sub(r"^```(?:json)?\s*|\s*```$", "", body)


def _diagnose(body: str, value: Any, closed: bool) -> str:
    if not body:
        return "it is empty."
    if value is None:
        try:
            json.loads(_strip_fence(body))
        except json.JSONDecodeError as error:
            where = f"not valid JSON at character {error.pos} ({error.msg})."
            return where if closed else f"{where} The call was not closed; it may have been cut off by the token limit."
        except RecursionError:
            return "the JSON is nested too deeply."
    if isinstance(value, dict) and "name" not in value:
        return f'the key "name" is missing; keys were {sorted(map(str, value))[:6]}.'
    return 'it is no object with "name" and "arguments".'


def _limited(content: str, calls: list[ToolCall], problems: list[str]) -> Action:
    if len(calls) > MAX_CALLS:
        problems.append(f"{len(calls)} calls in one message; only the first {MAX_CALLS} were run.")
    return Action(content, tuple(calls[:MAX_CALLS]), tuple(problems))
