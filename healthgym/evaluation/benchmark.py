"""The benchmark: items, how a candidate is measured on them, and how a stored row is scored again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from healthgym.envs.prompts import PromptProfile
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.items import Attempt, Item
from healthgym.evaluation.rows import Row
from healthgym.rollout.trajectory import Trajectory
from healthgym.world import Services

Mode = Literal["agentic", "text"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How items are put to the candidate. All of it, `in_flight` aside, changes rows and so is part of a run's identity.

    max_tokens: most tokens of one answer or turn.
    max_completion_tokens: most tokens of one episode after its prompt.
    max_turns: lowers the tasks' own limit.
    profile: how much an episode's prompt says.
    options: further settings of one benchmark, by name.
    """

    mode: Mode
    max_tokens: int = 512
    max_completion_tokens: int | None = None
    max_turns: int | None = None
    profile: PromptProfile = "full"
    sampling_seed: int = 0
    in_flight: int = 64
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Floor:
    """What a policy without understanding scores on the same items.

    name: majority, random, longest_option, blind, ...
    score: in [0, 1]; None where it has to be measured with a model (blind).
    how: one clause that says what it does.
    """

    name: str
    score: float | None
    how: str


class Keep(Protocol):
    """Takes each finished row, and the trajectory it came from where there is one."""

    def __call__(self, row: Row, trajectory: Trajectory | None = None, /) -> None: ...


class Benchmark(Protocol):
    """One benchmark. Each lives in a file of its own under `evaluation/benchmarks`."""

    name: str
    title: str
    modes: tuple[Mode, ...]
    """The first is the default."""
    scorer: str
    """Name and version of the scorer; raised whenever the same output would be scored differently."""

    def items(self) -> Sequence[Item]:
        """Return the items in a fixed order."""

    def floors(self, items: Sequence[Item]) -> Sequence[Floor]:
        """Return the floors on these items."""

    def measure(
        self,
        attempts: Sequence[Attempt],
        candidate: Candidate,
        settings: Settings,
        services: Services | None,
        keep: Keep,
    ) -> None:
        """Put every attempt to the candidate and keep exactly one row for each, as they finish."""

    def rescore(self, row: Row, item: Item) -> Row:
        """Return the row with status, scores and prediction read again from what it stores: no inference."""


@runtime_checkable
class Hashed(Protocol):
    """A benchmark whose rows rest on more than its items, such as tools and guidelines."""

    hashes: Mapping[str, str]
    """Digests by name; part of a run's identity."""


@runtime_checkable
class Replayed(Protocol):
    """A benchmark of episodes: scored again by playing the stored messages once more."""

    def rescore_episode(self, row: Row, item: Item, trajectory: Trajectory, services: Services | None) -> Row:
        """Return the row as the replayed episode is graded now: no inference."""


@runtime_checkable
class Detailed(Protocol):
    """A benchmark with more to say of its rows than scores and strata hold."""

    def details(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Return JSON-like data for `details` in result.json."""


@runtime_checkable
class Indifferent(Protocol):
    """A benchmark to which some options of `healthgym eval` make no difference, which is told before a model is loaded."""

    def indifferent_to(self, settings: Settings) -> Mapping[str, str]:
        """Return what would change nothing under these settings: why, by the option's name, `--set` options among them."""


@runtime_checkable
class Checked(Protocol):
    """A benchmark that can say of settings, before a model is loaded, that they cannot be used."""

    def check(self, settings: Settings, *, has_index: bool) -> None:
        """Raise ConfigError for settings that cannot be used, with or without an index of passages."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a benchmark's data is taken from, as the command line gives it.

    path: a file or folder; None takes the benchmark's own default, such as a hub name.
    split: of the dataset, where it has several.
    options: further words for the benchmark, from `--set name=value`.
    """

    path: Path | None = None
    split: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


MakeBenchmark = Callable[[Source], Benchmark]
