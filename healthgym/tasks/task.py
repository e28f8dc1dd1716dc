"""A task: a problem posed to an agent, with its gold, its dangers and its proof."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from healthgym.errors import TaskError
from healthgym.tasks.criteria import Criteria

Split = Literal["train", "val", "test", "test_ood"]
SPLITS: tuple[Split, ...] = ("train", "val", "test", "test_ood")
Difficulty = Literal["easy", "medium", "hard"]
DIFFICULTIES: tuple[Difficulty, ...] = ("easy", "medium", "hard")


@dataclass(frozen=True, init=False)
class Call:
    """A tool call: `Call("order_ecg", patient_id="P1")`."""

    tool: str
    arguments: Mapping[str, Any]

    def __init__(self, tool: str, /, **arguments: Any) -> None:
        object.__setattr__(self, "tool", tool)
        object.__setattr__(self, "arguments", arguments)


@dataclass(frozen=True, kw_only=True)
class Task:
    """One problem. Its charts are made by `family` from `seed`, or travel with the task in a `Case`.

    `solution` is the oracle: replaying it must earn full marks. `solution_turns`, when given, says how many of the
    calls go into each assistant turn; without it every call is a turn of its own.
    """

    id: str
    domain: str
    split: Split
    prompt: str
    criteria: Criteria
    solution: tuple[Call, ...]
    provenance: str
    family: str = ""
    seed: int = 0
    difficulty: Difficulty = "medium"
    template: str = ""
    condition: str = ""
    tools: tuple[str, ...] = ()
    """Names of the tools offered; empty means all of the domain's."""
    solution_turns: tuple[int, ...] = ()
    image_ids: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.id or not self.prompt.strip():
            raise TaskError(f"task {self.id!r}: id and prompt must not be empty")
        if self.split not in SPLITS:
            raise TaskError(f"task {self.id}: split must be one of {SPLITS}, got {self.split!r}")
        if not self.solution:
            raise TaskError(
                f"task {self.id}: no solution; list the calls that earn full marks, for only they prove the task"
            )
        if self.solution_turns and sum(self.solution_turns) != len(self.solution):
            raise TaskError(
                f"task {self.id}: solution_turns add up to {sum(self.solution_turns)}, not {len(self.solution)}"
            )

    def turns_of_solution(self) -> list[list[Call]]:
        """Return the oracle's calls grouped by assistant turn."""
        sizes = self.solution_turns or (1,) * len(self.solution)
        calls, turns = list(self.solution), []
        for size in sizes:
            turns.append(calls[:size])
            calls = calls[size:]
        return turns

    def to_dict(self) -> dict[str, Any]:
        """Return the task as JSON-like data, gold included: for digests and files, never for an agent."""
        return asdict(self)
