"""The candidate: what is evaluated, behind one face whether it is a folder, an adapter or a remote endpoint."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from healthgym.rollout.policy import Policy

if TYPE_CHECKING:
    from healthgym.rollout.template import ChatTemplate


@dataclass(frozen=True, slots=True)
class Options:
    """One prompt and the continuations whose log-probabilities are asked for, as token ids.

    key: names the request in the answer.
    prompt_ids: at least one token.
    continuations: at least one token each.
    """

    key: int
    prompt_ids: Sequence[int]
    continuations: Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class OptionScores:
    """For each continuation: the sum of its tokens' log-probabilities in nats, and whether greedy decoding writes it."""

    key: int
    logprobs: tuple[float, ...]
    is_greedy: tuple[bool, ...] = ()


class LogLikelihoods(Protocol):
    """Scores given continuations, in an order and batches of its own."""

    def __call__(self, requests: Sequence[Options], on_done: Callable[[OptionScores], None]) -> None:
        """Score every request and hand over each as it is done."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A model ready to be measured.

    name: what reports call it.
    engine: transformers, vllm or openai, with its version.
    policy: writes assistant turns.
    template: renders tokens; None for endpoints that work on messages.
    loglikelihoods: scores options; None where the engine cannot.
    hashes: weights and chat_template at least ("endpoint" and "model" where weights cannot be read).
    sampling: temperature and the like, as used.
    max_context: positions of the model, or None when unknown.
    has_vision: whether messages may hold images.
    close: frees what it holds.
    verify: looks again at what is served, for engines outside this process; to be called once all rows are made. Returns
        facts worth keeping beside the result; raises HealthgymError when it is no longer what the run began with.
    """

    name: str
    engine: str
    policy: Policy
    template: "ChatTemplate | None" = None
    loglikelihoods: LogLikelihoods | None = None
    hashes: Mapping[str, str] = field(default_factory=dict)
    sampling: Mapping[str, float | int | str | None] = field(default_factory=dict)
    max_context: int | None = None
    has_vision: bool = False
    close: Callable[[], None] = lambda: None
    verify: Callable[[], Mapping[str, str]] = dict
