"""What an episode is judged by: answer, end state, evidence, order, hazards, deadlines and budgets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from healthgym.errors import TaskError
from healthgym.tasks.answers import AnswerField
from healthgym.tasks.predicates import check

Severity = Literal["critical", "serious", "minor"]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Something that must have been seen before deciding: any one of `any_of`, or as many of them as `at_least` says.

    Keys are full fact keys ("P1.vital_signs.spo2_percent"); a trailing "*" matches any ending.
    `label` names the kind of evidence without telling its value; process hints use it.
    """

    any_of: tuple[str, ...]
    label: str
    at_least: int = 1

    def __post_init__(self) -> None:
        if not self.any_of:
            raise TaskError(f"evidence {self.label!r} names no fact")
        can_be_met = self.at_least <= len(self.any_of) or any(key.endswith("*") for key in self.any_of)
        if self.at_least < 1 or not can_be_met:
            raise TaskError(f"evidence {self.label!r} asks for {self.at_least} of {len(self.any_of)} facts")

    def is_met(self, keys: Mapping[str, Any]) -> bool:
        """Say whether enough of the keys were learnt."""
        if self.at_least == 1:
            return any(
                key in keys if not key.endswith("*") else any(known.startswith(key[:-1]) for known in keys)
                for key in self.any_of
            )
        return sum(any(covers(key, known) for key in self.any_of) for known in keys) >= self.at_least


def covers(pattern: str, key: str) -> bool:
    """Say whether a fact's key is meant by `pattern`: equal, or with a trailing "*" of that beginning."""
    return key.startswith(pattern[:-1]) if pattern.endswith("*") else key == pattern


@dataclass(frozen=True, kw_only=True)
class Order:
    """A call that must come before another: `first` and `then` are tool names, on the same patient."""

    first: str
    then: str
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Hazard:
    """An executed call that harms: `tool` with arguments meeting `where`. `label` names the kind of harm.

    With `unless_known` it harms only while none of these facts has been seen: a discharge before the troponin is back.
    """

    tool: str
    where: Mapping[str, Any] = field(default_factory=dict)
    severity: Severity = "serious"
    label: str
    unless_known: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check(self.where)
        _check_severity(f"hazard {self.label!r}", self.severity)


@dataclass(frozen=True, kw_only=True)
class Deadline:
    """A call that has to be made in time; left out or late, it is a hazard of this severity.

    The clock runs from minute `start`, or from when a fact meant by `after` was first learnt; where that never was, there
    is no deadline. Submitting before the call leaves it out. A call counts by the minute it begins, and may come early.
    """

    tool: str
    within_minutes: float
    where: Mapping[str, Any] = field(default_factory=dict)
    start: float = 0.0
    after: str = ""
    severity: Severity = "serious"
    label: str

    def __post_init__(self) -> None:
        check(self.where)
        _check_severity(f"deadline {self.label!r}", self.severity)
        if self.within_minutes <= 0 or (self.after and self.start):
            raise TaskError(
                f"deadline {self.label!r}: within_minutes must be above 0, and start or after be given, not both"
            )


def _check_severity(what: str, severity: str) -> None:
    if severity not in ("critical", "serious", "minor"):
        raise TaskError(f"{what}: severity must be critical, serious or minor, got {severity!r}")


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


DOMAINS_OWN = Budget()
"""The budget of criteria that set none: where a domain has one, its families put that in its place."""


@dataclass(frozen=True, kw_only=True)
class Criteria:
    """Everything an episode is graded on.

    answer: gold by argument name of the submit tool.
    end_state: conditions on the state by path ("P1.esi_level"): a value, operators, or an AnswerField, which gives partial
        credit and a weight ("P1.discharge_note": AnswerField(gold=("warfarin", "INR on Monday"), compare="mentions")).
        Where nothing was written, what the chart says at the start is judged ("P1.medications.warfarin", see
        `healthgym.world.starting`), None where it says nothing.
    evidence: what must have been seen before the submission; an answer without it is a guess.
    budget: limits of the episode; those of `domain.yaml` when none are given here.
    """

    answer: Mapping[str, AnswerField] = field(default_factory=dict)
    end_state: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    order: tuple[Order, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    deadlines: tuple[Deadline, ...] = ()
    budget: Budget = DOMAINS_OWN

    def __post_init__(self) -> None:
        if not self.answer and not self.end_state:
            raise TaskError(
                "the criteria have no gold, neither answer nor end_state, so nothing can be graded; give answer={...}"
            )
        check(self.end_state)
