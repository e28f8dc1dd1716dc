"""What an episode is judged by: answer, end state, evidence, order, hazards and budgets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from healthgym.errors import TaskError
from healthgym.tasks.answers import AnswerField
from healthgym.tasks.predicates import check

Severity = Literal["critical", "serious", "minor"]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Something that must have been seen before deciding: any one of `any_of`.

    Keys are full fact keys ("P1.vital_signs.spo2_percent"); a trailing "*" matches any ending.
    `label` names the kind of evidence without telling its value; process hints use it.
    """

    any_of: tuple[str, ...]
    label: str

    def __post_init__(self) -> None:
        if not self.any_of:
            raise TaskError(f"evidence {self.label!r} names no fact")

    def is_met(self, keys: Mapping[str, Any]) -> bool:
        """Say whether one of the keys was learnt."""
        return any(
            key in keys if not key.endswith("*") else any(known.startswith(key[:-1]) for known in keys)
            for key in self.any_of
        )


@dataclass(frozen=True, kw_only=True)
class Order:
    """A call that must come before another: `first` and `then` are tool names, on the same patient."""

    first: str
    then: str
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Hazard:
    """An executed call that harms: `tool` with arguments meeting `where`. `label` names the kind of harm."""

    tool: str
    where: Mapping[str, Any] = field(default_factory=dict)
    severity: Severity = "serious"
    label: str

    def __post_init__(self) -> None:
        check(self.where)
        if self.severity not in ("critical", "serious", "minor"):
            raise TaskError(
                f"hazard {self.label!r}: severity must be critical, serious or minor, got {self.severity!r}"
            )


@dataclass(frozen=True, slots=True)
class HazardHit:
    """A hazard that happened, or, for an omission such as a missed time-critical protocol, that was not averted."""

    label: str
    severity: Severity
    detail: str = ""
    turn: int = 0


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Limits of one episode; None means no limit."""

    turns: int = 12
    tool_calls: int | None = None
    minutes: float | None = None
    cost: float | None = None


@dataclass(frozen=True, kw_only=True)
class Criteria:
    """Everything an episode is graded on.

    answer: gold by argument name of the submit tool.
    end_state: conditions on the state by path ("P1.esi_level"): a value, operators, or an AnswerField, which gives partial
        credit and a weight ("P1.discharge_note": AnswerField(gold=("warfarin", "INR on Monday"), compare="mentions")).
    evidence: what must have been seen before the submission; an answer without it is a guess.
    """

    answer: Mapping[str, AnswerField] = field(default_factory=dict)
    end_state: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    order: tuple[Order, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        if not self.answer and not self.end_state:
            raise TaskError("criteria have neither answer nor end_state; a task that cannot be graded is not loaded")
        check(self.end_state)
