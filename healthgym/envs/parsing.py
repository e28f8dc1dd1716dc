"""Reads tool calls out of an assistant message, in the native formats of the model families people train.

Formats: Hermes/Qwen JSON (`<tool_call>{"name": ..., "arguments": {...}}</tool_call>`), Qwen-coder XML
(`<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>`) and Llama 3 JSON
(`{"name": ..., "parameters": {...}}`, with or without `<|python_tag|>`). This is the only reader of calls in healthgym.

A message is read once from left to right, so marks inside a call's own strings mean nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from healthgym.envs.json_values import Unreadable, check_value, cleaned, read_json, read_objects

_MARK = re.compile(r"<think>|<tool_call>|<function=")
_FUNCTION = re.compile(r"<function=([^>\s]*)>(.*?)</function>", re.DOTALL)
_OPEN_FUNCTION = re.compile(r"<function=([^>\s]*)>(.*)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\s]+)>\n?(.*?)\n?(?:</parameter>|(?=<parameter=)|\Z)", re.DOTALL)
_FENCE = re.compile(r"```(?:json)?\s*|\s*```$")
_SPECIAL = re.compile(r"<\|(?:im_end|im_start|eot_id|eom_id|endoftext|end_of_text|begin_of_text)\|>")
_OPEN, _CLOSE, _PYTHON = "<tool_call>", "</tool_call>", "<|python_tag|>"
_HOW = 'Write each call as <tool_call>{"name": "TOOL", "arguments": {...}}</tool_call>.'
_HOW_XML = "Write <function=TOOL><parameter=KEY>VALUE</parameter></function>."
_CUT_OFF = "The call was not closed; it may have been cut off by the token limit."
_ENVELOPE = {"name", "arguments", "parameters", "type", "id"}
MAX_CALLS = 16
"""Most calls read from one message, unreadable ones included; the rest is reported as a problem."""
MAX_PROBLEMS = 4
"""Most problems explained for one message, so that a message of nonsense cannot fill the context with advice."""
MAX_NAME = 100
"""Longest name a tool can have."""


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


@dataclass(slots=True)
class _Reading:
    """What has been read of a message so far."""

    content: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        return len(self.calls) + len(self.problems) >= MAX_CALLS

    def take(self, value: Any, call_id: str = "") -> None:
        """Add a decoded call, or the problem with it."""
        try:
            name, arguments = _as_call(value)
            self.calls.append(ToolCall(name, arguments, call_id))
        except Unreadable as error:
            self.fail(str(error))

    def fail(self, reason: str) -> None:
        self.problems.append(f"A tool call could not be read: {reason} {_HOW}")

    def action(self) -> Action:
        problems = self.problems[:MAX_PROBLEMS]
        if len(self.problems) > MAX_PROBLEMS:
            problems.append(f"{len(self.problems) - MAX_PROBLEMS} more calls could not be read.")
        return Action("".join(self.content).strip(), tuple(self.calls), tuple(problems))


def parse_action(message: str | Mapping[str, Any]) -> Action:
    """Read an assistant message: text with native markup, or {"content", "tool_calls"} as chat APIs give it.

    Reasoning between `<think>` marks, or before a `</think>` whose opening the prompt wrote, is the agent's own and is
    never read for calls. Calls that the token limit cut off are not run, even where what is left could be read.
    """
    if isinstance(message, Mapping):
        return _from_mapping(message)
    text = _after_reasoning(_SPECIAL.sub("", cleaned(message)))
    reading, position = _Reading(), 0
    while (mark := _MARK.search(text, position)) is not None:
        reading.content.append(text[position : mark.start()])
        if mark[0] == "<think>":
            end = text.find("</think>", mark.end())
            position = len(text) if end < 0 else end + len("</think>")
        elif reading.is_full:
            reading.problems.insert(
                0, f"More than {MAX_CALLS} calls in one message; only the first {MAX_CALLS} were read."
            )
            return reading.action()
        elif mark[0] == _OPEN:
            position = _read_block(text, mark.end(), reading)
        else:
            position = _read_function(text, mark.start(), len(text), reading)
    reading.content.append(text[position:])
    if not reading.calls and not reading.problems:
        return _from_llama("".join(reading.content).strip())
    return reading.action()


def _after_reasoning(text: str) -> str:
    """Return what follows a `</think>` that this message did not open; a mark inside a call is no end of reasoning."""
    before, mark, after = text.partition("</think>")
    if mark and "<think>" not in before and before.count(_OPEN) <= before.count(_CLOSE):
        return after
    return text


def _read_block(text: str, start: int, reading: _Reading) -> int:
    """Read the calls of one `<tool_call>` block and return where it ends."""
    position = _skip_space(text, start)
    if text.startswith("<function=", position):
        end, _ = _block_end(text, position)
        position = _read_function(text, position, end, reading, closed=text.startswith(_CLOSE, end))
        while text.startswith("<function=", position := _skip_space(text, position)) and not reading.is_full:
            position = _read_function(text, position, end, reading, closed=text.startswith(_CLOSE, end))
        return position + len(_CLOSE) if text.startswith(_CLOSE, position) else position
    fence = _FENCE.match(text, position)
    try:
        values, position = read_objects(text, fence.end() if fence else position)
    except Unreadable as error:
        end, after = _block_end(text, position)
        closed = text.startswith(_CLOSE, end)
        reading.fail("it is empty." if end == position else f"{error}" if closed else f"{error} {_CUT_OFF}")
        return after
    if fence and text.startswith("```", position):
        position = _skip_space(text, position + 3)
    if position < len(text) and not text.startswith((_CLOSE, _OPEN), position):
        reading.fail(f"after its JSON comes {text[position : position + 20]!r}.")
        return _block_end(text, position)[1]
    for value in values:
        reading.take(value)
    return position + len(_CLOSE) if text.startswith(_CLOSE, position) else position


def _read_function(text: str, start: int, stop: int, reading: _Reading, *, closed: bool = False) -> int:
    """Read one `<function=...>` call and return where it ends; `closed` says that the block around it ends at `stop`."""
    match = _FUNCTION.match(text, start, stop) or (_OPEN_FUNCTION.match(text, start, stop) if closed else None)
    if match is None:
        is_cut = _OPEN_FUNCTION.match(text, start, stop) is not None
        reading.problems.append(f"A <function=...> call could not be read. {_CUT_OFF if is_cut else _HOW_XML}")
        return stop
    name, body = match.groups()
    reading.take({"name": name, "arguments": {key: _literal(value) for key, value in _PARAMETER.findall(body)}})
    return match.end()


def _from_llama(text: str) -> Action:
    """Read a message that is, or after its python tag holds, JSON calls one after the other."""
    before, tag, body = text.partition(_PYTHON)
    if not tag:
        before, body = "", _FENCE.sub("", text)
    body = body.strip()
    if not body.startswith(("{", "[")):
        return Action(text.replace(_PYTHON, "").strip())
    try:
        values, end = read_objects(body, 0)
    except Unreadable as error:
        values, end, problem = [], 0, str(error)
    else:
        problem = ""
    meant = [value for value in values if isinstance(value, dict) and ("name" in value or "function" in value)]
    reading = _Reading([before, body[end:]])
    if not values and '"name"' in body and ('"parameters"' in body or '"arguments"' in body):
        reading.content = [before]
        reading.fail(problem)
        return reading.action()
    if not meant or len(meant) < len(values):
        return Action(text.replace(_PYTHON, "").strip())
    for value in meant[:MAX_CALLS]:
        reading.take(value)
    if len(meant) > MAX_CALLS:
        reading.problems.insert(0, f"{len(meant)} calls in one message; only the first {MAX_CALLS} were read.")
    return reading.action()


def _from_mapping(message: Mapping[str, Any]) -> Action:
    content = message.get("content") or ""
    if isinstance(content, list | tuple):
        blocks = [block.get("text") for block in content if isinstance(block, Mapping)]
        content = " ".join(block for block in blocks if isinstance(block, str))
    entries = message.get("tool_calls") or ()
    if not entries:
        return parse_action(str(content))
    reading = _Reading([cleaned(str(content))])
    if not isinstance(entries, list | tuple):
        reading.fail(f"tool_calls is a {type(entries).__name__}, expected a list.")
        return reading.action()
    for entry in entries[:MAX_CALLS]:
        call_id = entry.get("id") if isinstance(entry, Mapping) else None
        reading.take(dict(entry) if isinstance(entry, Mapping) else entry, cleaned(str(call_id or "")))
    if len(entries) > MAX_CALLS:
        reading.problems.insert(0, f"{len(entries)} calls in one message; only the first {MAX_CALLS} were read.")
    return reading.action()


def _as_call(value: Any) -> tuple[str, dict[str, Any]]:
    """Return (name, arguments) of a decoded call. Raises Unreadable, saying what is wrong with it."""
    if isinstance(value, dict) and isinstance(value.get("function"), Mapping):
        value = dict(value["function"])
    if not isinstance(value, dict):
        raise Unreadable('it is no object with "name" and "arguments".')
    if "name" not in value:
        raise Unreadable(f'the key "name" is missing; keys were {sorted(str(key)[:30] for key in value)[:6]}.')
    name = value["name"].strip() if isinstance(value["name"], str) else ""
    if not name or len(name) > MAX_NAME:
        raise Unreadable("its name is not the name of a tool.")
    arguments = value.get("arguments", value.get("parameters"))
    if isinstance(arguments, str):
        arguments = read_json(arguments) if arguments.strip() else None
    if arguments is None:
        beside = sorted(str(key)[:30] for key in value.keys() - _ENVELOPE)
        if beside:
            raise Unreadable(f'its arguments {beside[:6]} are not under the key "arguments".')
        arguments = {}
    if not isinstance(arguments, Mapping):
        raise Unreadable(f'"arguments" is a {type(arguments).__name__}, expected an object.')
    arguments = dict(arguments)
    if not all(isinstance(key, str) for key in arguments):
        raise Unreadable("the names of its arguments must be text.")
    check_value(arguments)
    return cleaned(name), cleaned(arguments)


def _literal(value: str) -> Any:
    """Return an XML parameter's value: JSON where it is JSON, else the text itself."""
    try:
        return read_json(value)
    except Unreadable:
        return value


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _block_end(text: str, position: int) -> tuple[int, int]:
    """Return where an unreadable block ends, and where reading goes on: at its close, the next block, or the end."""
    close, following = text.find(_CLOSE, position), text.find(_OPEN, position)
    if close >= 0 and not 0 <= following < close:
        return close, close + len(_CLOSE)
    end = following if following >= 0 else len(text)
    return end, end
