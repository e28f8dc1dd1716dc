"""Conversations and replies as OpenAI's chat completions protocol has them on the wire."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from healthgym.errors import ConfigError
from healthgym.rollout.endpoint import Unusable
from healthgym.rollout.markup import render_call, tools_as_text

Message = Mapping[str, Any]
ToolMode = Literal["native", "markup", "told", "plain"]
"""How a server is shown tools and gives calls back.

native: schemas go with the request, calls come back structured.
markup: schemas go with the request, calls come back as the model's own text, which the environment reads.
told: the server's chat template shows no tools, so the system message tells of them; calls come back as text.
plain: as told, and results go back as user messages, for servers that know neither tools nor their role.
"""


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """What one server takes.

    tools: how it is shown tools.
    limit: its name for the most tokens of a reply.
    takes_seed: whether it takes a seed.
    extra: further fields of every request, such as vLLM's top_k.
    """

    tools: ToolMode = "native"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    takes_seed: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChatReply:
    """One reply.

    message: text, or a chat message with structured calls.
    tokens: how many the model wrote, where the server says so.
    model, fingerprint: what the server says it answered with.
    """

    message: str | Message
    clipped: bool
    tokens: int | None
    prompt_tokens: int | None
    model: str | None
    fingerprint: str | None


def wire_messages(
    messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], mode: ToolMode
) -> list[dict[str, Any]]:
    """Return a conversation as the server takes it.

    Args:
        messages: The conversation; content may hold text and image blocks.
        tools: Schemas of the tools, told in the system message where the mode says so.
        mode: How the server is shown tools.

    Raises:
        ConfigError: A content block is of a kind that cannot be sent.
    """
    sent = _Wire(mode)
    for message in messages:
        sent.add(message)
    sent.flush()
    if tools and mode in ("told", "plain"):
        _tell(sent.messages, tools_as_text(tools))
    return sent.messages


class _Wire:
    """Messages on their way; what tools showed waits until every call of a turn has its answer."""

    def __init__(self, mode: ToolMode) -> None:
        self.mode = mode
        self.messages: list[dict[str, Any]] = []
        self._open: list[tuple[str, str]] = []  # name and id of calls without an answer
        self._later: list[dict[str, Any]] = []
        self._calls = 0

    def add(self, message: Message) -> None:
        role = message["role"]
        if role == "tool":
            self._answer(message)
            return
        self.flush()
        if role == "assistant":
            self.messages.append(self._native_turn(message) if self.mode == "native" else _turn_as_text(message))
        else:
            self.messages.append({"role": role, "content": _content(message.get("content"))})

    def flush(self) -> None:
        self.messages += self._later
        self._later, self._open = [], []

    def _native_turn(self, message: Message) -> dict[str, Any]:
        turn: dict[str, Any] = {"role": "assistant", "content": _content(message.get("content"))}
        calls = []
        for call in message.get("tool_calls") or ():
            function = call["function"]
            self._calls += 1
            self._open.append((function["name"], f"call_{self._calls}"))
            arguments = function["arguments"]
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
            calls.append(
                {
                    "id": f"call_{self._calls}",
                    "type": "function",
                    "function": {"name": function["name"], "arguments": text},
                }
            )
        return {**turn, "tool_calls": calls} if calls else turn

    def _answer(self, message: Message) -> None:
        """Send a tool's answer to the call it belongs to; one without a call, such as an error, as a user message."""
        content = _content(message.get("content"))
        if self.mode == "plain":
            self.messages.append({"role": "user", "content": _labelled(message, content)})
            return
        if self.mode != "native":
            self.messages.append({"role": "tool", "name": message.get("name", "tool"), "content": content})
            return
        call = next((entry for entry in self._open if entry[0] == message.get("name")), None)
        if call is None:
            self._later.append({"role": "user", "content": content})
            return
        self._open.remove(call)
        if not isinstance(content, str):  # the protocol has no images in a tool's message
            pictures = [block for block in content if block["type"] != "text"]
            if pictures:
                self._later.append({"role": "user", "content": pictures})
            content = "\n".join(block["text"] for block in content if block["type"] == "text")
        self.messages.append({"role": "tool", "tool_call_id": call[1], "content": content})


def read_reply(answer: Any) -> ChatReply:
    """Read a server's answer.

    Raises:
        Unusable: It is no chat completion.
    """
    if not isinstance(answer, Mapping):
        raise Unusable(f"a {type(answer).__name__} instead of a chat completion")
    choices = answer.get("choices")
    if not isinstance(choices, Sequence) or not choices or not isinstance(choices[0], Mapping):
        error = answer.get("error")
        raise Unusable(f"an error: {json.dumps(error)[:200]}" if error else "a chat completion without choices")
    choice, message = choices[0], choices[0].get("message")
    if not isinstance(message, Mapping):
        raise Unusable("a choice without a message")
    if choice.get("finish_reason") == "error":
        raise Unusable(f"a reply that ended in an error: {json.dumps(choice.get('error'))[:200]}")
    usage = answer.get("usage") if isinstance(answer.get("usage"), Mapping) else {}
    return ChatReply(
        message=_message(message),
        clipped=choice.get("finish_reason") == "length",
        tokens=_count(usage, "completion_tokens"),
        prompt_tokens=_count(usage, "prompt_tokens"),
        model=_text_or_none(answer.get("model")),
        fingerprint=_text_or_none(answer.get("system_fingerprint")),
    )


def _message(message: Message) -> str | Message:
    """Return text, or content and calls where there are structured ones; the environment judges what they hold."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(block.get("text") or "") for block in content if isinstance(block, Mapping))
    if not isinstance(content, str):
        content = _text_or_none(message.get("refusal")) or ""
    calls = message.get("tool_calls")
    if not calls:
        return content
    return {"role": "assistant", "content": content, "tool_calls": calls}


def _turn_as_text(message: Message) -> dict[str, Any]:
    """Return an assistant turn as the model wrote it, its calls as markup."""
    if "raw" in message:
        return {"role": "assistant", "content": message["raw"]}
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    written = [render_call(call["name"], call["arguments"]) for call in calls]
    content = message.get("content") or ""
    return {"role": "assistant", "content": "\n".join([*([content] if content else []), *written])}


def _tell(messages: list[dict[str, Any]], told: str) -> None:
    if messages and messages[0]["role"] == "system" and isinstance(messages[0]["content"], str):
        messages[0] = {**messages[0], "content": f"{messages[0]['content']}\n\n{told}"}
    else:
        messages.insert(0, {"role": "system", "content": told})


def _labelled(message: Message, content: str | list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    label = f"Result of {message.get('name', 'tool')}:"
    if isinstance(content, str):
        return f"{label}\n{content}"
    return [{"type": "text", "text": label}, *content]


def _content(content: Any) -> str | list[dict[str, Any]]:
    """Return text as it is and blocks as the protocol has them."""
    if content is None or isinstance(content, str):
        return content or ""
    return [_block(block) for block in content]


def _block(block: Any) -> dict[str, Any]:
    kind = block.get("type") if isinstance(block, Mapping) else None
    if kind == "text":
        return {"type": "text", "text": block["text"]}
    if kind == "image_url":
        return dict(block)
    if kind == "image" and isinstance(block.get("url"), str):
        return {"type": "image_url", "image_url": {"url": block["url"]}}
    shown = sorted(block) if isinstance(block, Mapping) else type(block).__name__
    raise ConfigError(
        f"A message holds a content block that cannot be sent to an endpoint: type {kind!r}, {shown}. Expected text, or an "
        'image as {"type": "image", "url": "data:image/png;base64,..."}.'
    )


def _count(usage: Any, name: str) -> int | None:
    value = usage.get(name)
    return value if isinstance(value, int) else None


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
