"""One attempt at one task: applies assistant messages to the world until it ends, then is graded once."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

from healthgym.envs.parsing import Action, ToolCall, parse_action
from healthgym.envs.prompts import PromptProfile, opening_messages, tool_schemas, with_pictures
from healthgym.errors import GraderError, HealthgymError, TaskError, nearest
from healthgym.registry import Domain
from healthgym.rewards import EpisodeRecord, Grade, grade
from healthgym.tasks import Budget, Case, matches
from healthgym.toolkit import ToolResult, ToolSpec
from healthgym.world import ExecutedCall, Services, World

StopReason = Literal[
    "submitted", "max_turns", "max_tool_calls", "time_budget", "cost_budget", "token_budget", "parse_failure", "timeout"
]
MAX_FAILED_TURNS = 3
"""Consecutive turns without one call that ran, after which the episode ends as a parse failure."""

Message = dict[str, Any]


class Episode:
    """The state of one attempt. `apply` takes an assistant message and returns what the environment answers.

    With `images`, messages that show pictures hold content blocks for a vision model; without, their captions alone.
    """

    def __init__(
        self,
        case: Case,
        domain: Domain,
        *,
        services: Services | None = None,
        profile: PromptProfile = "full",
        max_turns: int | None = None,
        seed: int = 0,
        images: bool = False,
    ) -> None:
        self.case, self.domain, self.profile, self.seed, self.images = case, domain, profile, seed, images
        self.task = case.task
        budget = self.task.criteria.budget
        self.max_turns = min(budget.turns, max_turns) if max_turns else budget.turns
        self.budget: Budget = budget
        self.world = World(case.charts, services=services, seed=seed)
        self.world.limits = {
            "turns": self.max_turns, "tool_calls": budget.tool_calls, "minutes": budget.minutes, "cost": budget.cost,
        }  # fmt: skip
        self.toolkit = domain.toolkit(self.world)
        pictures = [self.toolkit.picture(image_id) for image_id in self.task.image_ids]
        self.messages: list[Message] = opening_messages(domain, self.task, profile, pictures, images=images)
        self.stop_reason: StopReason | None = None
        self.submission: dict[str, Any] | None = None
        self.turns = 0
        self.malformed_calls = 0
        self.idle_turns = 0
        self._failed_turns = 0
        self._seen: dict[str, str] = {}

    @cached_property
    def permitted(self) -> dict[str, ToolSpec]:
        """The tools of this task by name: the one list that is both shown and allowed."""
        every = self.domain.tools
        if not self.task.tools:
            return every
        unknown = [name for name in self.task.tools if name not in every]
        if unknown:
            raise TaskError(f"task {self.task.id} names tool {unknown[0]!r}.{nearest(unknown[0], every)}")
        return {name: every[name] for name in self.task.tools}

    @cached_property
    def tools(self) -> list[dict[str, Any]]:
        """JSON schemas shown to the agent; empty in the bare profile."""
        return tool_schemas(list(self.permitted.values()), self.profile)

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended."""
        return self.stop_reason is not None

    def apply(self, message: str | Mapping[str, Any]) -> list[Message]:
        """Apply one assistant message; return the tool or user messages that answer it (empty when it ended)."""
        action = parse_action(message)
        self.turns += 1
        self.world.turn = self.turns
        self.messages.append(_assistant(message, action))
        answers = self._run(action)
        self._check_turns()
        if self.is_over:
            answers = [] if self.stop_reason == "submitted" else answers
        self.messages.extend(answers)
        return answers

    def stop(self, reason: StopReason) -> None:
        """End the episode from outside: token budget or timeout."""
        self.stop_reason = self.stop_reason or reason

    def grade(self) -> Grade:
        """Judge the episode as it stands. Raises GraderError when grading itself fails: never a score of 0."""
        record = EpisodeRecord(
            task=self.task,
            world=self.world,
            messages=self.messages,
            submission=self.submission,
            stop_reason=self.stop_reason or "running",
            malformed_calls=self.malformed_calls,
            idle_turns=self.idle_turns,
            hazard_rules=self.domain.hazard_rules,
        )
        try:
            return grade(record)
        except HealthgymError:
            raise
        except Exception as error:
            raise GraderError(f"grading {self.task.id} failed: {type(error).__name__}: {error}") from error

    def fork(self) -> "Episode":
        """Return an independent copy of the episode at this turn."""
        copy = Episode.__new__(Episode)
        copy.__dict__.update(self.__dict__)
        copy.world = self.world.fork()
        copy.toolkit = self.domain.toolkit(copy.world)
        copy.messages, copy._seen = list(self.messages), dict(self._seen)
        return copy

    def _run(self, action: Action) -> list[Message]:
        answers: list[Message] = []
        ran = 0
        for call in action.calls:
            result = self._call(call)
            ran += result.error is None
            content = with_pictures(result.content, result.pictures, images=self.images)
            answers.append({"role": "tool", "name": call.name, "content": content})
            if call.id:
                answers[-1]["tool_call_id"] = call.id
            self._check_budget()
            if self.is_over:
                return answers
        self.malformed_calls += len(action.problems)
        answers += [{"role": "tool", "name": "error", "content": f"Error: {problem}"} for problem in action.problems]
        if not action.calls and not action.problems:
            self.idle_turns += 1
            text = f"No tool was called. Call a tool, or end with {self.domain.submit_tool.name}."
            answers.append({"role": "user", "content": text})
        self._failed_turns = 0 if ran else self._failed_turns + 1
        return answers

    def _call(self, call: ToolCall) -> ToolResult:
        world, started = self.world, self.world.minutes
        if call.name not in self.permitted:
            message = f"No tool {call.name[:80]!r} here.{nearest(call.name[:80], self.permitted)}"
            result = ToolResult(call.name, dict(call.arguments), f"Error: {message}", message)
        else:
            result = self.toolkit.call(call.name, call.arguments)
        spec = self.permitted.get(call.name)
        if result.error is None and spec is not None:
            world.advance(spec.minutes)
            world.cost += spec.cost
            result = self._with_results(result)
        key = f"{result.tool}{sorted(result.arguments.items(), key=lambda item: item[0])!r}"
        repeated = result.effect != "think" and self._seen.get(key) == result.content
        self._seen[key] = result.content
        world.calls.append(
            ExecutedCall(
                tool=result.tool,
                arguments=result.arguments,
                effect=result.effect,
                turn=self.turns,
                minutes=started,
                error=result.error,
                content=result.content,
                learnt=world.take_learnt(),
                repeated=repeated,
            )
        )
        if result.effect == "submit" and result.error is None:
            self.submission, self.stop_reason = result.arguments, "submitted"
        return result

    def _with_results(self, result: ToolResult) -> ToolResult:
        """Add the text of results that became ready, and of what happened, while the call took its time."""
        world = self.world
        news = [f"[result {order.id}, {order.patient_id}] {order.text}" for order in world.new_results()]
        for patient_id, event in world.due_events():
            if not event.unless or not matches(dict(world.state.items()), event.unless):
                news.append(world.happen(patient_id, event))
        return replace(result, content="\n".join([result.content, *news])) if news else result

    def _check_budget(self) -> None:
        """End the episode once a budget is spent, in the middle of a message too: its further calls do not run."""
        budget, world = self.budget, self.world
        if self.is_over:
            return
        if budget.tool_calls is not None and len(world.calls) >= budget.tool_calls:
            self.stop_reason = "max_tool_calls"
        elif budget.minutes is not None and world.minutes > budget.minutes:
            self.stop_reason = "time_budget"
        elif budget.cost is not None and world.cost > budget.cost:
            self.stop_reason = "cost_budget"

    def _check_turns(self) -> None:
        if self.is_over:
            return
        if self._failed_turns >= MAX_FAILED_TURNS:
            self.stop_reason = "parse_failure"
        elif self.turns >= self.max_turns:
            self.stop_reason = "max_turns"


def _assistant(message: str | Mapping[str, Any], action: Action) -> Message:
    """Return the assistant message for the record: prose and structured calls, raw text kept where it was text."""
    entry: Message = {"role": "assistant", "content": action.content}
    if action.calls:
        entry["tool_calls"] = [
            {"type": "function", "function": {"name": call.name, "arguments": dict(call.arguments)}}
            for call in action.calls
        ]
    if isinstance(message, str) and message != action.content:
        entry["raw"] = message
    return entry
