"""A tokenizer's chat template as token ids: the prompt, and exactly what it puts between two assistant turns.

Sampled ids are never rendered again (token in, token out). What the template writes between the end of an assistant
turn and the next generation prompt is cut out of a rendered dummy conversation.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import TemplateError

from healthgym.errors import ConfigError, HealthgymError
from healthgym.rollout.markup import render_call, tools_as_text, with_hint
from healthgym.rollout.template_probe import Renderer, TemplateReport, assistant_call, probe_template

Message = Mapping[str, Any]
__all__ = ["ChatTemplate", "TemplateReport", "probe_template"]


class ChatTemplate:
    """Renders conversations of one tokenizer to token ids.

    Args:
        tokenizer: A transformers tokenizer with a chat template.
        options: More variables for the template, for example {"enable_thinking": False}.

    Raises:
        ConfigError: The template cannot serve multi-turn episodes; see `probe_template`.
    """

    def __init__(self, tokenizer: Any, *, options: Mapping[str, Any] | None = None) -> None:
        self.tokenizer = tokenizer
        self.report: TemplateReport = probe_template(tokenizer, options=options)
        self._renderer = Renderer(tokenizer, self.report.template, dict(options or {}), self.report.arguments_as_text)
        self.turn_end_id: int = self.report.turn_end_id
        self._opening = self._renderer.text([_USER], opened=True)
        self._heads: dict[str, list[int] | None] = {}

    def prompt_ids(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> list[int]:
        """Return the ids of a conversation, ending with the generation prompt."""
        _refuse_images(messages)
        if tools and not self.report.shows_tools:
            messages, tools = _with_tools(messages, tools), ()
        text = self._renderer.text(messages, tools=tools, opened=True)
        end = text.find(self.report.turn_end) + len(self.report.turn_end)
        head, tail = text[:end], text[end:]
        if self.report.turn_end not in text or not self._is_cut_clean(head, tail):
            return self._renderer.encode(text)
        return [*(self._heads[head] or ()), *self._renderer.encode(tail)]

    def _is_cut_clean(self, head: str, tail: str) -> bool:
        """Say whether text may be encoded in two pieces after its first turn, whose ids are kept.

        Episodes of a domain share guideline and tools, most of a long prompt. Tried out once for each first turn.
        """
        if head not in self._heads:
            if len(self._heads) >= _MOST_HEADS:
                self._heads.clear()
            encode = self._renderer.encode
            ids = encode(head)
            self._heads[head] = ids if ids + encode(tail) == encode(head + tail) else None
        return self._heads[head] is not None

    def insert_hint(self, messages: Sequence[Message], hint: str, tools: Sequence[Mapping[str, Any]] = ()) -> list[int]:
        """Return the prompt's ids with the hint as a user message of its own just before the first assistant turn.

        Raises:
            ConfigError: The template forbids two user messages in a row.
        """
        first = next((i for i, message in enumerate(messages) if message["role"] == "assistant"), len(messages))
        try:
            return self.prompt_ids(with_hint(messages[:first], hint), tools)
        except TemplateError as error:
            raise ConfigError(
                f"The chat template refuses a hint as a message of its own ({error}). Set hint: null, or use a template "
                "that allows two user messages in a row."
            ) from error

    def environment_ids(self, answers: Sequence[Message]) -> list[int]:
        """Return what the template writes after an assistant turn's end token: the answers and the generation prompt.

        Args:
            answers: Tool and user messages that answer the turn.
        """
        _refuse_images(answers)
        called = next((str(message["name"]) for message in answers if message["role"] == "tool"), None)
        dummy = [_USER, _SAID if called is None else assistant_call(called, {})]
        before = self._renderer.ids(dummy)
        after = self._renderer.ids([*dummy, *answers], opened=True)
        end = len(before) - before[::-1].index(self.turn_end_id)
        if after[:end] != before[:end]:
            raise HealthgymError("The chat template rewrote an earlier turn; the probe should have refused it.")
        return after[end:]

    def closing_ids(self, token_ids: Sequence[int]) -> list[int]:
        """Return the end-of-turn token when a sampled turn lacks it (it was clipped), else nothing."""
        return [] if token_ids and token_ids[-1] == self.turn_end_id else [self.turn_end_id]

    def turn_ids(self, content: str, calls: Sequence[tuple[str, Mapping[str, Any]]] = ()) -> list[int]:
        """Return a scripted assistant turn as the model would write it, end-of-turn token included.

        Args:
            content: Prose before the calls.
            calls: (name, arguments) of each call.
        """
        return [*self._renderer.encode(self.turn_text(content, calls)), self.turn_end_id]

    def turn_text(self, content: str, calls: Sequence[tuple[str, Mapping[str, Any]]] = ()) -> str:
        """Return a scripted assistant turn as text in the template's own markup, without its end-of-turn token.

        Templates of the Llama 3 family write a call instead of prose: there the prose of a turn with calls is left out.
        """
        if not self.report.writes_calls and calls:
            content, calls = "\n".join([*([content] if content else []), *(render_call(*call) for call in calls)]), ()
        try:
            return self._body(content, calls)
        except TemplateError:  # templates of the Llama 3 family write one call a message
            if len(calls) < 2:
                raise
            return "; ".join(self._body(content if i == 0 else "", [call]) for i, call in enumerate(calls))

    def _body(self, content: str, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
        message: dict[str, Any] = {"role": "assistant", "content": content}
        if calls:
            entries = [{"type": "function", "function": {"name": name, "arguments": dict(a)}} for name, a in calls]
            message["tool_calls"] = entries
        text = self._renderer.text([_USER, message])
        text = text[: text.rindex(self.report.turn_end)]
        if text.startswith(self._opening):
            return text[len(self._opening) :]
        # The generation prompt opens a reasoning block that the template leaves out of finished turns.
        marked = self._renderer.text([_USER, {**message, "content": content or _MARK}])
        start = marked.index(content or _MARK, len(self._renderer.text([_USER])))
        plain = marked[start : marked.rindex(self.report.turn_end)]
        closed = "\n</think>\n\n" if self._opening.rstrip().endswith("<think>") else ""
        return closed + (plain if content else plain.removeprefix(_MARK).lstrip("\n"))


def _refuse_images(messages: Sequence[Message]) -> None:
    for message in messages:
        if not isinstance(message.get("content") or "", str):
            raise ConfigError(
                "A message holds an image, which has no place among text tokens. Make the episodes with images=False, which "
                "gives captions, or pass template=None to a policy that reads messages."
            )


def _with_tools(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return the messages with the tools told in the system message, for templates that ignore tools."""
    told = tools_as_text(tools)
    if messages and messages[0]["role"] == "system":
        return [{**messages[0], "content": f"{messages[0]['content']}\n\n{told}"}, *messages[1:]]
    return [{"role": "system", "content": told}, *messages]


_USER = {"role": "user", "content": "x"}
_SAID = {"role": "assistant", "content": "x"}
_MARK = "Qx7marker"
_MOST_HEADS = 256
