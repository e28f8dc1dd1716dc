"""Episodes that run out of memory are sampled again with fewer at once."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from accelerate.utils import gather_object

from healthgym.rollout import Trajectory
from healthgym.rollout.memory import with_fewer
from healthgym.rollout.policy import Counted
from healthgym.training.demonstrations import Turns
from healthgym.training.rows import EpisodeRow
from healthgym.training.source import EpisodeSource, OnEpisode


class ShrinkingSource:
    """An episode source that halves `in_flight` when memory runs out, and stays there.

    The number in flight changes nothing about what is sampled, so the episodes are those that would have been.

    Args:
        source: The source; one without `in_flight` cannot be helped, and its error is explained.
        refresh: Brings the copy up to date that the source samples from; None where it samples from the model itself.
    """

    def __init__(self, source: EpisodeSource, refresh: Callable[[], Any] | None = None) -> None:
        self.source: Any = source
        self.refresh = refresh
        self.shrinks = 0

    def sample(
        self, rows: Sequence[EpisodeRow], *, seed: int, hints: Sequence[str | None] | None = None
    ) -> list[Trajectory | None]:
        """As `EpisodeSource.sample`; every process must call this, with or without rows.

        Raises:
            OutOfMemory: A single episode does not fit.
        """

        def sample(in_flight: int) -> list[Trajectory | None]:
            if in_flight < now:
                self.shrinks += 1
                self.source.in_flight = in_flight
            made: list[Trajectory | None] = self.source.sample(rows, seed=seed, hints=hints)
            return made

        if self.refresh is not None:
            self.refresh()
        now = min(getattr(self.source, "in_flight", 1), len(rows))
        return with_fewer(sample, now)

    def scripted(self, plans: Sequence[tuple[str, Turns]]) -> list[Trajectory]:
        """As `EpisodeSource.scripted`."""
        made: list[Trajectory] = self.source.scripted(plans)
        return made

    @contextmanager
    def telling(self, on_episode: OnEpisode | None, total: int) -> Iterator[None]:
        """Tell how many of `total` episodes are finished while they are sampled, where the source says so."""
        if on_episode is None or not hasattr(self.source, "on_trajectory"):
            yield
            return
        before, done = self.source.on_trajectory, 0

        def tell(trajectory: Trajectory) -> None:
            nonlocal done
            done += 1
            if before is not None:
                before(trajectory)
            on_episode(min(done, total), total)

        self.source.on_trajectory = tell
        on_episode(0, total)
        try:
            yield
        finally:
            self.source.on_trajectory = before

    def metrics(self) -> dict[str, float]:
        """Return what a step's row says about sampling, summed over processes; all must call this.

        The engines' own counts are among them; `robust/in_flight` is the least of any process.
        """
        found = {"robust/rollout_oom_total": float(self.shrinks)}
        policy, in_flight = getattr(self.source, "policy", None), getattr(self.source, "in_flight", None)
        if isinstance(policy, Counted):
            found |= policy.counters()
        everywhere: list[tuple[dict[str, float], int | None]] = gather_object([(found, in_flight)])
        total = {name: sum(one[name] for one, _ in everywhere) for name in found}
        least = min((number for _, number in everywhere if number is not None), default=None)
        return total if least is None else {**total, "robust/in_flight": float(least)}
