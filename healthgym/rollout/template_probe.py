"""Finds out, before anything is trained, whether a chat template can serve multi-turn tool episodes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import TemplateError

from healthgym.errors import ConfigError, MissingDependency

Message = Mapping[str, Any]
_MARK = "Qx7marker"
_TOOL = {
    "type": "function",
    "function": {
        "name": _MARK, "description": "Probe.", "parameters": {"type": "object", "properties": {}, "required": []},
    },
}  # fmt: skip
_USER = {"role": "user", "content": "question"}


@dataclass(frozen=True, kw_only=True)
class TemplateReport:
    """What a probe found.

    template: the Jinja source to use.
    turn_end: the token that ends an assistant turn, and its id.
    generation_prompt: what opens an assistant turn.
    shows_tools: whether tool schemas appear in the prompt; where not, healthgym tells them in the system message.
    writes_calls: whether structured calls of finished turns are rendered.
    arguments_as_text: whether the template wants call arguments as a JSON string.
    is_replaced: whether a prefix-preserving template took the place of the tokenizer's own.
    notes: what a person should know.
    """

    template: str
    turn_end: str
    turn_end_id: int
    generation_prompt: str
    shows_tools: bool
    writes_calls: bool
    arguments_as_text: bool
    is_replaced: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Renderer:
    """Renders messages with one template of one tokenizer."""

    tokenizer: Any
    template: str
    options: Mapping[str, Any]
    arguments_as_text: bool = False

    def text(
        self, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]] = (), opened: bool = False
    ) -> str:
        """Return the conversation as text; `opened` adds the generation prompt."""
        shown = [_arguments_as_text(message) for message in messages] if self.arguments_as_text else list(messages)
        rendered: str = self.tokenizer.apply_chat_template(
            shown, tools=list(tools) or None, add_generation_prompt=opened, tokenize=False,
            chat_template=self.template, **self.options,
        )  # fmt: skip
        return rendered

    def ids(
        self, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]] = (), opened: bool = False
    ) -> list[int]:
        """Return the conversation as token ids."""
        return self.encode(self.text(messages, tools=tools, opened=opened))

    def encode(self, text: str) -> list[int]:
        """Return the ids of text that already holds every special token it needs."""
        return list(self.tokenizer.encode(text, add_special_tokens=False))


def assistant_call(name: str, arguments: Mapping[str, Any], content: str = "") -> dict[str, Any]:
    """Return an assistant message with one structured call."""
    call = {"type": "function", "id": "call00000", "function": {"name": name, "arguments": dict(arguments)}}
    return {"role": "assistant", "content": content, "tool_calls": [call]}


def probe_template(tokenizer: Any, *, options: Mapping[str, Any] | None = None) -> TemplateReport:
    """Render small conversations and report what the template does with them.

    A template that rewrites earlier turns (drops their reasoning, say) is replaced by TRL's prefix-preserving form
    where TRL has one.

    Args:
        tokenizer: A transformers tokenizer.
        options: More variables for the template.

    Raises:
        ConfigError: No template, no tool messages, turns that do not end with the EOS token, or a template that
            rewrites history and has no known replacement. Each names a remedy.
    """
    options = dict(options or {})
    renderer = _with_tool_role(Renderer(tokenizer, _source(tokenizer), options))
    turn_end, turn_end_id = _turn_end(renderer)
    is_replaced = _rewrites_history(renderer, turn_end)
    if is_replaced:
        renderer = _with_tool_role(Renderer(tokenizer, _preserving(tokenizer), options))
        turn_end, turn_end_id = _turn_end(renderer)
        if _rewrites_history(renderer, turn_end):
            raise ConfigError(_REWRITES)
    _check_turns(renderer, turn_end)
    generation_prompt = renderer.text([_USER], opened=True).removeprefix(renderer.text([_USER]))
    shows_tools = _MARK in renderer.text([_USER], tools=[_TOOL], opened=True)
    writes_calls = _MARK in renderer.text([_USER, assistant_call(_MARK, {})])
    notes = []
    if is_replaced:
        notes.append("The template rewrites earlier turns; TRL's prefix-preserving form of it is used instead.")
    if not shows_tools:
        notes.append("The template shows no tools; they are told in the system message.")
    if "<think>" in generation_prompt:
        notes.append("The generation prompt writes a reasoning block; check that the model does not copy it.")
    return TemplateReport(
        template=renderer.template,
        turn_end=turn_end,
        turn_end_id=turn_end_id,
        generation_prompt=generation_prompt,
        shows_tools=shows_tools,
        writes_calls=writes_calls,
        arguments_as_text=renderer.arguments_as_text,
        is_replaced=is_replaced,
        notes=tuple(notes),
    )


def _source(tokenizer: Any) -> str:
    template = getattr(tokenizer, "chat_template", None)
    if isinstance(template, dict):
        template = template.get("tool_use") or template.get("default")
    if not template:
        raise ConfigError(
            "The tokenizer has no chat template, so turns cannot be told apart. Take an instruction-tuned model, or set "
            "tokenizer.chat_template to a ChatML template before loading it."
        )
    return str(template)


def _with_tool_role(renderer: Renderer) -> Renderer:
    """Return the renderer with the form of arguments its template takes. Raises ConfigError without a tool role."""
    conversation = [_USER, assistant_call("look", {}), {"role": "tool", "name": "look", "content": _MARK}]
    reason = "the content of tool messages is left out"
    for as_text in (False, True):
        found = Renderer(renderer.tokenizer, renderer.template, renderer.options, as_text)
        try:
            if _MARK in found.text(conversation, opened=True):
                return found
        except (TemplateError, TypeError) as error:
            reason = str(error)
    raise ConfigError(
        f"The chat template cannot render tool results ({reason}). Use a model trained for tools, or set "
        "tokenizer.chat_template to a template with a 'tool' role, for example a ChatML one."
    )


def _turn_end(renderer: Renderer) -> tuple[str, int]:
    """Return the token that ends an assistant turn. Raises ConfigError when it is not the EOS token."""
    tokenizer = renderer.tokenizer
    tail = renderer.text([_USER, {"role": "assistant", "content": _MARK}]).rpartition(_MARK)[2]
    ids = renderer.encode(tail)
    written = tokenizer.decode(ids[:1]) if ids else "nothing"
    if not ids or ids[0] != tokenizer.eos_token_id:
        raise ConfigError(
            f"The chat template ends an assistant turn with {written!r}, but the tokenizer's EOS token is "
            f"{tokenizer.eos_token!r}: sampled turns would not stop. Set tokenizer.eos_token to the token that ends turns."
        )
    return str(tokenizer.eos_token), int(ids[0])


def _check_turns(renderer: Renderer, turn_end: str) -> None:
    """Raise ConfigError when a turn with a call stays open, or a tool result is not followed by a new turn's opening."""
    called = renderer.text([_USER, assistant_call("look", {})])
    answered = [_USER, assistant_call("look", {}), {"role": "tool", "name": "look", "content": _MARK}]
    opening = renderer.text([_USER], opened=True).removeprefix(renderer.text([_USER]))
    if not called.rstrip().endswith(turn_end) or not renderer.text(answered, opened=True).endswith(opening or _MARK):
        raise ConfigError(
            "The chat template runs a tool call, its result and what follows together in one turn, so turns cannot be told "
            "apart. Set tokenizer.chat_template to a template that closes the turn after a call and opens a new one "
            "after the result, for example a ChatML one."
        )


def _rewrites_history(renderer: Renderer, turn_end: str) -> bool:
    """Say whether an earlier assistant turn reads differently once more messages follow."""
    reasoned = "<think>\nplan\n</think>\n\ndone"
    tool = {"role": "tool", "name": "look", "content": "seen"}
    openings = [
        [_USER, assistant_call("look", {})],
        [_USER, assistant_call("look", {}, reasoned)],
        [_USER, {"role": "assistant", "content": reasoned}],
    ]
    for opening in openings:
        said = renderer.text(opening)
        said = said[: said.rindex(turn_end) + len(turn_end)]
        answers: list[dict[str, str]] = [{"role": "user", "content": "go on"}]
        if "tool_calls" in opening[-1]:
            answers = [tool]
        continued = [*opening, *answers, {"role": "assistant", "content": "well"}, {"role": "user", "content": "on"}]
        longer = ([*opening, *answers], continued)
        if not all(renderer.text(messages, opened=True).startswith(said) for messages in longer):
            return True
    return False


_REWRITES = (
    "The chat template rewrites earlier assistant turns (it drops their reasoning or trims them), so the tokens that were "
    "sampled would not be the tokens that are trained on. Set tokenizer.chat_template to a prefix-preserving template; "
    "for models TRL knows, trl.chat_template_utils.get_training_chat_template has one."
)


def _preserving(tokenizer: Any) -> str:
    """Return TRL's prefix-preserving form of the tokenizer's template. Raises ConfigError when there is none."""
    try:
        from trl.chat_template_utils import get_training_chat_template
    except ImportError as error:
        raise MissingDependency.extra("A template that rewrites history", "train") from error
    try:
        template = get_training_chat_template(tokenizer)
    except (ValueError, TypeError, TemplateError) as error:
        raise ConfigError(_REWRITES) from error
    if template is None:
        raise ConfigError(_REWRITES)
    return str(template)


def _arguments_as_text(message: Message) -> Message:
    if "tool_calls" not in message:
        return message
    calls = [
        {**call, "function": {**call["function"], "arguments": json.dumps(call["function"]["arguments"])}}
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}
