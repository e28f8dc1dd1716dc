"""The finished record of one episode: tokens as they were sampled, messages, grade and counts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from healthgym.errors import HealthgymError
from healthgym.rewards import Grade
from healthgym.tasks import HazardHit

TRACE_VERSION = 1


@dataclass(frozen=True, slots=True)
class TurnSpan:
    """Where one assistant turn lies in `completion_ids`: [start, end)."""

    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Trajectory:
    """One episode. Token fields are empty when the policy works on text (scripted policies without a tokenizer).

    prompt_ids: tokens before the first assistant turn.
    completion_ids: everything after: sampled tokens verbatim, and the environment's messages between turns.
    completion_mask: 1 where the policy wrote the token.
    logprobs: log-probability in nats of each completion token under the sampling policy; 0.0 where the mask is 0.
        None when the engine gives none.
    turns: one span per assistant turn, by message boundaries.
    """

    task_id: str
    domain: str
    family: str
    split: str
    difficulty: str
    group: int = 0
    seed: int = 0
    prompt_ids: Sequence[int] = ()
    completion_ids: Sequence[int] = ()
    completion_mask: Sequence[int] = ()
    logprobs: Sequence[float] | None = None
    turns: tuple[TurnSpan, ...] = ()
    messages: Sequence[Mapping[str, Any]] = ()
    tools: Sequence[Mapping[str, Any]] = ()
    grade: Grade
    reward: float
    stop_reason: str
    assistant_tokens: int = 0
    num_turns: int = 0
    tool_calls: tuple[str, ...] = ()
    """Names of the calls that were made, in order, failed ones included."""
    tool_failures: int = 0
    """Calls that could not be read or that a tool refused."""
    idle_turns: int = 0
    minutes: float = 0.0
    clipped: bool = False
    """Whether a turn ended at its token limit or the episode at its token budget."""
    policy: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_record(self, *, tokens: bool = False) -> dict[str, Any]:
        """Return the trajectory as one JSON-like trace record; token fields only when asked for.

        Messages and the like are the trajectory's own, not copies.
        """
        # Field by field: asdict() would copy every message, schema and token, which costs more than the episode did.
        left_out = () if tokens else _TOKEN_FIELDS
        record = {name: getattr(self, name) for name in _FIELDS if name not in left_out}
        record["grade"] = asdict(self.grade)
        if tokens:
            record["turns"] = [{"start": span.start, "end": span.end} for span in self.turns]
        return {"trace_version": TRACE_VERSION, **record}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Trajectory":
        """Rebuild a trajectory from a trace record. Raises HealthgymError for a record of another version."""
        version = record.get("trace_version")
        if version != TRACE_VERSION:
            raise HealthgymError(f"trace record has version {version!r}; this release reads version {TRACE_VERSION}")
        values = {name: value for name, value in record.items() if name != "trace_version"}
        grade = dict(values["grade"])
        grade["hazards"] = tuple(HazardHit(**hit) for hit in grade["hazards"])
        grade["missing_evidence"] = tuple(grade["missing_evidence"])
        values["grade"] = Grade(**grade)
        values["turns"] = tuple(TurnSpan(**span) for span in values.get("turns", ()))
        values["tool_calls"] = tuple(values["tool_calls"])
        return cls(**values)


_FIELDS = tuple(each.name for each in fields(Trajectory))
_TOKEN_FIELDS = ("prompt_ids", "completion_ids", "completion_mask", "logprobs", "turns")
