"""What a grader is given: one finished episode."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from healthgym.tasks import Task
from healthgym.world import World

if TYPE_CHECKING:
    from healthgym.registry import HazardRule


@dataclass(frozen=True, kw_only=True)
class EpisodeRecord:
    """A finished episode: the task, the world as it was left, and everything that was said."""

    task: Task
    world: World
    messages: Sequence[Mapping[str, Any]]
    submission: Mapping[str, Any] | None
    """Arguments of the submit tool, or None."""
    stop_reason: str
    malformed_calls: int = 0
    """Calls that could not be read, named no tool, or broke the schema."""
    idle_turns: int = 0
    """Turns without any call."""
    hazard_rules: "tuple[HazardRule, ...]" = ()

    @property
    def well_formed_calls(self) -> int:
        """Calls that ran."""
        return sum(call.error is None for call in self.world.calls)
