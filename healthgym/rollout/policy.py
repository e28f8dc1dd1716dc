"""What produces assistant turns: one small interface for scripts, local engines, servers and remote endpoints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One assistant turn to be written.

    key: identifies the episode among those in flight.
    messages, tools: the conversation as text, for policies that work on text.
    prompt_ids: every token so far, exactly as sampled or inserted, for engines that work on tokens; empty otherwise.
    max_tokens: most tokens this turn may take.
    seed: seeds the sampling of this turn, so that it does not depend on which other turns are in flight.
    """

    key: int
    task_id: str
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    prompt_ids: Sequence[int] = ()
    max_tokens: int = 0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class TurnResult:
    """One assistant turn as written.

    message: text with native markup, or a chat message with structured tool calls.
    token_ids: sampled tokens, end-of-turn token included when it was sampled; empty for text policies.
    logprobs: one per token in nats under the sampling distribution, or None.
    clipped: True when the turn ended at max_tokens rather than by itself.
    num_tokens: how many tokens were written, for policies that know the number and not the tokens.
    """

    key: int
    message: str | Mapping[str, Any]
    token_ids: Sequence[int] = ()
    logprobs: Sequence[float] | None = None
    clipped: bool = False
    error: str | None = None
    """Set when the infrastructure failed: the episode is excluded and counted, never scored."""
    num_tokens: int | None = None


class Policy(Protocol):
    """Writes assistant turns. Requests may be submitted at any time and finish in any order.

    A batched engine advances all its requests a step at each poll; a remote one answers as replies arrive.
    """

    name: str

    def submit(self, request: TurnRequest) -> None:
        """Queue one turn."""

    def poll(self) -> list[TurnResult]:
        """Do some work and return the turns that finished. Must return at least one when requests are pending,
        unless it waits on something outside the process, in which case it blocks briefly and may return none."""

    def cancel(self, key: int) -> None:
        """Forget an episode: its pending request, if there is one, and whatever was kept for its next turn.

        Called once for every episode, when it ends as well.
        """


@runtime_checkable
class Prepared(Protocol):
    """A policy with work to do before a batch of episodes, such as taking new weights.

    Processes that share one engine call it the same number of times, also for a batch without episodes.
    """

    def prepare(self) -> None:
        """Get ready for the next batch of episodes."""


@runtime_checkable
class Counted(Protocol):
    """A policy that counts what it does, for the log of a run."""

    def counters(self) -> Mapping[str, float]:
        """Return totals since it was made."""
