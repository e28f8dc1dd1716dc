"""The teacher's copy of an episode: hints inserted, the student's tokens verbatim, and where each of them went."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from jinja2 import TemplateError
from torch import Tensor

from healthgym.errors import ConfigError, HealthgymError

Ids = Sequence[int]


@dataclass(frozen=True)
class TeacherSequence:
    """One episode as the teacher reads it."""

    prompt_ids: list[int]
    completion_ids: list[int]
    positions: list[int]
    """For each token of the student's completion its index in `completion_ids`; -1 when it fell off the context."""


@dataclass(frozen=True)
class HintRenderer:
    """Turns hint text into the token ids of one message, by the model's own chat template."""

    tokenizer: Any
    template_options: Mapping[str, Any]
    _messages: dict[str, list[int]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def generation_prompt(self) -> list[int]:
        """Ids that open an assistant turn."""
        opened, closed = self._render([_USER], True), self._render([_USER], False)
        return _rest(opened, closed, "the generation prompt")

    def message(self, hint: str) -> list[int]:
        """Ids of the hint as a user message that follows another message; rendered once, since attempts share hints."""
        if hint not in self._messages:
            before = self._render([_USER], False)
            try:
                after = self._render([_USER, {"role": "user", "content": hint}], False)
            except TemplateError as error:
                raise ConfigError(
                    f"The chat template refuses a hint as a message of its own ({error}). Set hint: null, or use a template "
                    "that allows two user messages in a row."
                ) from error
            self._messages[hint] = _rest(after, before, "a hint message")
        return self._messages[hint]

    def _render(self, messages: list[dict[str, str]], opened: bool) -> list[int]:
        ids = self.tokenizer.apply_chat_template(
            messages, add_generation_prompt=opened, tokenize=True, return_dict=False, **self.template_options
        )
        return list(ids)


_USER = {"role": "user", "content": "x"}


def hinted_prompt(prompt_ids: Ids, hint_ids: Ids, generation_prompt: Ids) -> list[int]:
    """Return a prompt with one rendered message inserted before the generation prompt it ends with.

    Raises:
        HealthgymError: The prompt does not end with the generation prompt.
    """
    if not hint_ids:
        return list(prompt_ids)
    cut = len(prompt_ids) - len(generation_prompt)
    _check_opening(prompt_ids[max(cut, 0) :], generation_prompt)
    return [*prompt_ids[:cut], *hint_ids, *prompt_ids[cut:]]


def teacher_sequence(
    prompt_ids: Ids,
    completion_ids: Ids,
    turn_starts: Sequence[int],
    hint_ids: Ids,
    *,
    generation_prompt: Ids,
    where: str = "prompt",
    max_context: int | None = None,
) -> TeacherSequence:
    """Insert a hint message before the assistant turns and keep everything else token for token.

    Args:
        prompt_ids: The student's prompt; ends with the generation prompt.
        completion_ids: Everything after it.
        turn_starts: Where each assistant turn begins in `completion_ids`; the generation prompt lies just before all
            but the first.
        hint_ids: One rendered message; empty inserts nothing.
        generation_prompt: Ids that open an assistant turn.
        where: `prompt`, before the first assistant turn, or `every_turn`, before each later one as well.
        max_context: Tokens of prompt and completion beyond this are cut off at the end.

    Raises:
        HealthgymError: A turn does not begin after a generation prompt, so there is no place for a message.
    """
    prompt = hinted_prompt(prompt_ids, hint_ids, generation_prompt)
    pieces: list[int] = []
    positions: list[int] = []
    cuts = [start - len(generation_prompt) for start in turn_starts[1:]] if where == "every_turn" and hint_ids else []
    for start, cut in zip(turn_starts[1:], cuts, strict=False):
        _check_opening(completion_ids[max(cut, 0) : start], generation_prompt)
    for index, token in enumerate(completion_ids):
        if index in cuts:
            pieces.extend(hint_ids)
        positions.append(len(pieces))
        pieces.append(token)
    room = len(pieces) if max_context is None else max(max_context - len(prompt), 0)
    if max_context is not None and not room:  # one token of each keeps the place in the batch; none is scored
        return TeacherSequence(prompt[-1:], pieces[:1], [-1] * len(positions))
    return TeacherSequence(
        prompt_ids=prompt,
        completion_ids=pieces[:room],
        positions=[position if position < room else -1 for position in positions],
    )


def turn_id_row(spans: Sequence[tuple[int, int]], completion_mask: Sequence[int]) -> list[int]:
    """Return the turn of each completion token the policy wrote, from 0, and -1 for all others."""
    row = [-1] * len(completion_mask)
    for turn, (start, end) in enumerate(spans):
        for index in range(start, min(end, len(row))):
            if completion_mask[index]:
                row[index] = turn
    return row


def pad_rows(rows: Sequence[Ids], value: int, *, side: str = "right", width: int = 0) -> Tensor:
    """Stack ragged rows into (B, T), T the longest of them and at least `width`."""
    width = max([width, *(len(row) for row in rows)])
    filled = [
        [*row, *[value] * (width - len(row))] if side == "right" else [*[value] * (width - len(row)), *row]
        for row in rows
    ]
    return torch.tensor(filled, dtype=torch.long)


def check_alignment(completion_ids: Tensor, teacher_ids: Tensor, positions: Tensor) -> None:
    """Assert that the teacher scores the very tokens the student wrote.

    Args:
        completion_ids: (B, T) of the student.
        teacher_ids: (B, S) completion part of the teacher's sequences.
        positions: (B, T) index into S, -1 where nothing is scored.

    Raises:
        HealthgymError: A token differs; distilling from it would teach nonsense.
    """
    scored = positions >= 0
    seen = teacher_ids.gather(1, positions.clamp(min=0))
    wrong = scored & (seen != completion_ids)
    if wrong.any():
        row, column = wrong.nonzero()[0].tolist()
        raise HealthgymError(
            f"Teacher and student are misaligned: in trajectory {row} token {column} the student wrote id "
            f"{int(completion_ids[row, column])}, the teacher would score id {int(seen[row, column])}."
        )


def _check_opening(found: Ids, generation_prompt: Ids) -> None:
    if list(found) != list(generation_prompt):
        raise HealthgymError(
            f"No place for a hint: an assistant turn begins after ids {list(found)}, not after the generation prompt "
            f"{list(generation_prompt)}."
        )


def _rest(longer: list[int], shorter: list[int], what: str) -> list[int]:
    if longer[: len(shorter)] != shorter or len(longer) == len(shorter):
        raise ConfigError(
            f"The chat template rewrites earlier messages or adds nothing for {what}, so hints cannot be inserted. "
            "Use a prefix-preserving template, or set hint: null."
        )
    return longer[len(shorter) :]
