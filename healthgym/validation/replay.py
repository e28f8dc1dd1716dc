"""Plays a fixed list of assistant turns in one episode, watching the state at every call."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from healthgym.envs.episode import Episode
from healthgym.registry import Domain
from healthgym.rewards import Grade, compose
from healthgym.tasks import Call, Case
from healthgym.toolkit import Toolkit, ToolResult
from healthgym.world import Services

Turn = str | Sequence[Call]
"""What an assistant turn is here: prose, or calls."""


@dataclass(frozen=True)
class Touch:
    """One executed call and whether it changed the state."""

    tool: str
    effect: str
    changed: bool
    error: str | None


@dataclass(frozen=True)
class Played:
    """A finished replay."""

    episode: Episode
    grade: Grade
    reward: float
    touches: tuple[Touch, ...]


class _Watched:
    """A toolkit that notes for every call whether the state's hash changed."""

    def __init__(self, toolkit: Toolkit, touches: list[Touch]) -> None:
        self.toolkit, self.touches = toolkit, touches

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        before = self.toolkit.world.state.hash()
        result = self.toolkit.call(name, arguments)
        changed = self.toolkit.world.state.hash() != before
        self.touches.append(Touch(name, result.effect, changed, result.error))
        return result


def play(case: Case, domain: Domain, turns: Iterable[Turn], services: Services | None = None) -> Played:
    """Play `turns` until they or the episode end, and grade what was left."""
    episode = Episode(case, domain, services=services, profile="bare")
    touches: list[Touch] = []
    episode.toolkit = _Watched(episode.toolkit, touches)  # type: ignore[assignment]
    for turn in turns:
        if episode.is_over:
            break
        episode.apply(as_message(turn))
    grade = episode.grade()
    return Played(episode, grade, compose(grade), tuple(touches))


def as_message(turn: Turn) -> dict[str, Any]:
    """Return a turn as the chat message a model would have sent, its arguments passed through JSON."""
    if isinstance(turn, str):
        return {"role": "assistant", "content": turn}
    calls = [{"function": {"name": call.tool, "arguments": json.dumps(dict(call.arguments))}} for call in turn]
    return {"role": "assistant", "content": "", "tool_calls": calls}
