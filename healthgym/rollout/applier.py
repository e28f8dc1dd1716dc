"""Applies turns to their episodes: in the loop's own thread, or in several while the loop goes on."""

from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from healthgym.envs.episode import Episode
from healthgym.errors import ConfigError, ServiceError
from healthgym.rollout.policy import TurnResult


@dataclass(frozen=True, slots=True)
class Applied:
    """A turn and what the environment answered; `error` tells of a failure of the infrastructure."""

    result: TurnResult
    answers: list[Mapping[str, Any]]
    error: str | None = None

    @property
    def key(self) -> int:
        """Which episode it was."""
        return self.result.key


class Applier(Protocol):
    """Takes turns and gives them back applied. An episode has at most one turn under way."""

    @property
    def pending(self) -> int:
        """Turns taken and not given back yet."""

    def apply(self, episode: Episode, result: TurnResult) -> None:
        """Take a turn."""

    def done(self, *, wait: bool) -> list[Applied]:
        """Return the turns that were applied; with `wait`, at least one."""


class Inline:
    """Applies every turn at once."""

    def __init__(self) -> None:
        self._done: list[Applied] = []

    @property
    def pending(self) -> int:
        """Turns taken and not given back yet."""
        return len(self._done)

    def apply(self, episode: Episode, result: TurnResult) -> None:
        """Apply a turn now."""
        self._done.append(_applied(episode, result))

    def done(self, *, wait: bool) -> list[Applied]:
        """Return what was applied since the last call."""
        done, self._done = self._done, []
        return done


class Threaded:
    """Applies turns in threads."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._futures: list[Future[Applied]] = []

    @property
    def pending(self) -> int:
        """Turns taken and not given back yet."""
        return len(self._futures)

    def apply(self, episode: Episode, result: TurnResult) -> None:
        """Hand a turn to a thread."""
        self._futures.append(self._pool.submit(_applied, episode, result))

    def done(self, *, wait: bool) -> list[Applied]:
        """Return the turns that are applied; an exception of the environment's is raised here."""
        if wait:
            _wait(self._futures)
        ready = [future for future in self._futures if future.done()]
        self._futures = [future for future in self._futures if future not in ready]
        return [future.result() for future in ready]


@contextmanager
def applier(workers: int) -> Iterator[Applier]:
    """Give an applier with so many threads, none for 0, and wait for its threads at the end.

    Raises:
        ConfigError: The number is negative.
    """
    if workers < 0:
        raise ConfigError(f"workers must be 0 or more, got {workers}")
    if workers == 0:
        yield Inline()
        return
    with ThreadPoolExecutor(workers, thread_name_prefix="healthgym-episode") as pool:
        yield Threaded(pool)


def _applied(episode: Episode, result: TurnResult) -> Applied:
    if result.error is not None:
        return Applied(result, [], result.error)
    try:
        return Applied(result, list(episode.apply(result.message)))
    except ServiceError as error:
        return Applied(result, [], str(error))


def _wait(futures: list[Future[Applied]]) -> None:
    wait(futures, return_when=FIRST_COMPLETED)
