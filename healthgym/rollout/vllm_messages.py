"""What a rollout policy and a vLLM engine say to each other, wherever the engine runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from healthgym.errors import HealthgymError


class EngineDied(HealthgymError):
    """The engine's process or server is gone; the message holds its last words."""


class Adapter(NamedTuple):
    """A LoRA adapter in a folder, in PEFT's format; `number` is its own in one engine's life."""

    name: str
    number: int
    folder: str


@dataclass(frozen=True, slots=True)
class Generate:
    """One turn to be written, answered by a `Written` or a `Failed`.

    sampling: temperature, top_p and top_k (0 keeps all tokens).
    end_ids: tokens that end the turn.
    """

    key: str
    prompt_ids: Sequence[int]
    max_tokens: int
    seed: int
    sampling: Mapping[str, float]
    end_ids: Sequence[int]
    adapter: Adapter | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """One turn as the engine wrote it, with log-probabilities in nats under the sampling distribution.

    cached: tokens of the prompt that the engine had seen before.
    """

    key: str
    token_ids: list[int]
    logprobs: list[float]
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Failed:
    """The engine gave up on one request."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class Served:
    """Which weights an engine serves.

    version: the trainer's name for them; empty for those the engine started with.
    received: digest of the tensors as they arrived.
    """

    version: str = ""
    received: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A method of the engine to be run, answered by a `Reply` unless it is `abort`."""

    method: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a `Call` returned, or the last words of an engine that is about to end."""

    value: Any = None
    error: str | None = None


class Engine(Protocol):
    """vLLM, in a process beside the trainer or behind a server. Every method may raise EngineDied."""

    name: str
    context_limit: int
    """Most tokens of prompt and turn together; known once started."""

    def start(self) -> None:
        """Start, or wait until it answers; after a death, begin again."""

    def generate(self, request: Generate) -> None:
        """Hand over one turn to be written."""

    def finished(self) -> list[Written | Failed]:
        """Wait for at least one turn and return those that are done."""

    def abort(self, key: str) -> None:
        """Stop writing a turn."""

    def load(self, folder: Path, version: str) -> Served:
        """Serve the weights in a folder from now on, and forget what was cached under the old ones."""

    def serving(self) -> Served:
        """Tell which weights are served."""

    def use_adapter(self, adapter: Adapter) -> None:
        """Make a LoRA adapter available in place of all others."""

    def score(self, ids: Sequence[int], adapter: Adapter | None) -> list[float]:
        """Return the log-probability of each token but the first, in nats."""

    def sleep(self) -> None:
        """Give the accelerator's memory back until `wake`."""

    def wake(self) -> None:
        """Take the memory again."""

    def close(self) -> None:
        """Let go of the engine."""


class Sync(Protocol):
    """Keeps the weights that an engine serves those that are wanted, and proves it. Every method may raise HealthgymError."""

    adapter: Adapter | None
    """The adapter that requests name."""
    loads: int
    """How often the engine was given weights."""
    seconds: float
    """Time spent on that."""

    def engine_is_new(self) -> None:
        """Take note that the engine has just been started."""

    def publish(self) -> None:
        """Note the wanted weights as they are now."""

    def load(self, *, always: bool = False) -> None:
        """Have the engine serve them, unless it does already."""

    def check(self) -> None:
        """Raise when it serves others."""

    def close(self) -> None:
        """Delete what was published."""
