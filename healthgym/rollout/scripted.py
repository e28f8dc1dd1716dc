"""Policies that follow a script: the oracle's calls, given plans, or any function of the conversation."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from healthgym.errors import TaskError
from healthgym.rollout.markup import render_call
from healthgym.rollout.policy import TurnRequest, TurnResult
from healthgym.tasks import Call, Suite, Task

if TYPE_CHECKING:
    from healthgym.rollout.template import ChatTemplate

Calls = Sequence[Call]
Turn = str | Calls | tuple[str, Calls]
"""Prose, calls, or prose with calls."""
Prose = Callable[[Task, int], str]
"""Returns the prose of the oracle's turn with this index, from 0."""

__all__ = ["OraclePolicy", "PlannedPolicy", "ScriptedPolicy", "Turn", "render_call", "turn_index"]


class ScriptedPolicy:
    """Answers each request at once with what `script` says.

    Args:
        script: Returns the turn for a request.
        template: Given, turns carry the token ids the model would have written; otherwise they are text.
        name: Name in trajectories.
    """

    def __init__(
        self, script: Callable[[TurnRequest], Turn], *, template: "ChatTemplate | None" = None, name: str = "scripted"
    ) -> None:
        self.script, self.template, self.name = script, template, name
        self._requests: dict[int, TurnRequest] = {}

    def submit(self, request: TurnRequest) -> None:
        """Queue one turn."""
        self._requests[request.key] = request

    def poll(self) -> list[TurnResult]:
        """Answer everything that is pending."""
        requests, self._requests = self._requests, {}
        return [self._write(request) for request in requests.values()]

    def cancel(self, key: int) -> None:
        """Forget a pending request, if there is one."""
        self._requests.pop(key, None)

    def _write(self, request: TurnRequest) -> TurnResult:
        content, calls = _parts(self.script(request))
        pairs = [(call.tool, call.arguments) for call in calls]
        if self.template is None:
            text = "\n".join([*([content] if content else []), *(render_call(*pair) for pair in pairs)])
            return TurnResult(request.key, text)
        text = self.template.turn_text(content, pairs)
        ids = self.template.turn_ids(content, pairs)
        clipped = bool(request.max_tokens) and len(ids) > request.max_tokens
        if clipped:
            ids = ids[: request.max_tokens]
            text = self.template.tokenizer.decode(ids)
        return TurnResult(request.key, text, ids, clipped=clipped)


class OraclePolicy(ScriptedPolicy):
    """Replays each task's own solution, which must earn full marks.

    Args:
        suite: Holds the tasks.
        template: Given, turns carry token ids.
        prose: Prose before the calls of a turn.
    """

    def __init__(self, suite: Suite, *, template: "ChatTemplate | None" = None, prose: Prose | None = None) -> None:
        def replay(request: TurnRequest) -> Turn:
            task, index = suite.task(request.task_id), turn_index(request)
            turns = task.turns_of_solution()
            if index >= len(turns):
                raise TaskError(
                    f"The oracle of {task.id} has {len(turns)} turns, but the episode asks for turn {index + 1}. "
                    "Prove the task with: healthgym validate"
                )
            return (prose(task, index) if prose is not None else "", turns[index])

        super().__init__(replay, template=template, name="oracle")


class PlannedPolicy(ScriptedPolicy):
    """Plays a plan per episode; an episode that outlives its plan hears only that there is nothing more to do.

    Args:
        plans: By episode key (the job's place), the calls of each turn.
        template: Given, turns carry token ids.
    """

    def __init__(self, plans: Sequence[Sequence[Turn]], *, template: "ChatTemplate | None" = None) -> None:
        def play(request: TurnRequest) -> Turn:
            plan, index = plans[request.key], turn_index(request)
            return plan[index] if index < len(plan) else "Nothing more to do."

        super().__init__(play, template=template, name="planned")


def turn_index(request: TurnRequest) -> int:
    """Return the number of assistant turns before this one."""
    return sum(message["role"] == "assistant" for message in request.messages)


def _parts(turn: Turn) -> tuple[str, Calls]:
    if isinstance(turn, str):
        return turn, ()
    if len(turn) == 2 and isinstance(turn[0], str):
        return turn[0], turn[1]  # type: ignore[return-value]
    return "", turn  # type: ignore[return-value]
