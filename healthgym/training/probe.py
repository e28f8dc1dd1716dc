"""Hint probe: does the hinted teacher do better on tasks that just failed, and is it the hint's content that helps?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

from healthgym.rollout import Trajectory

Resample = Callable[[Sequence[Trajectory], Sequence[str | None]], Sequence[Trajectory | None]]
"""Makes one new episode for the task of each trajectory, its prompt extended by a hint unless that is None."""


@dataclass(frozen=True)
class Rate:
    """A share of successes with its 95 % interval."""

    successes: int
    n: int

    @property
    def share(self) -> float:
        """Successes over attempts; 0 when nothing was tried."""
        return self.successes / self.n if self.n else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson score interval at 95 %."""
        if not self.n:
            return 0.0, 1.0
        z, n, p = 1.959964, self.n, self.share
        centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True)
class ProbeResult:
    """Success on the same failed tasks with the right hint, another attempt's hint, and no hint."""

    right: Rate
    shuffled: Rate
    none: Rate

    @property
    def helps(self) -> bool:
        """Whether the right hint beats no hint."""
        return self.right.share > self.none.share

    def metrics(self) -> dict[str, float]:
        """Return the three shares with their intervals, for the log."""
        found: dict[str, float] = {"probe/n": float(self.right.n), "probe/shuffled_n": float(self.shuffled.n)}
        for name in ("right", "shuffled", "none"):
            rate: Rate = getattr(self, name)
            low, high = rate.interval
            found |= {f"probe/{name}": rate.share, f"probe/{name}_low": low, f"probe/{name}_high": high}
        return found

    def describe(self) -> str:
        """Return the comparison in one sentence."""
        parts = [
            f"{name} {rate.share:.2f} [{rate.interval[0]:.2f}, {rate.interval[1]:.2f}]"
            for name, rate in (("right hint", self.right), ("shuffled hint", self.shuffled), ("no hint", self.none))
        ]
        return f"hint probe on {self.right.n} failed tasks: {', '.join(parts)}"


def probe_hints(failed: Sequence[Trajectory], hints: Sequence[str | None], resample: Resample) -> ProbeResult:
    """Resample failed tasks with the right hint, another one's hint, and none.

    Args:
        failed: Attempts that failed.
        hints: The hint of each; attempts without one are left out.
        resample: Makes the new episodes; run it with the teacher's weights.

    Episodes that fail in the infrastructure count neither way.
    """
    pairs = [(one, hint) for one, hint in zip(failed, hints, strict=True) if hint is not None]
    tasks, right = [one for one, _ in pairs], [hint for _, hint in pairs]
    wrong = shuffled_hints(right)
    swapped = [(task, hint) for task, hint in zip(tasks, wrong, strict=True) if hint is not None]
    return ProbeResult(
        right=_rate(resample(tasks, right)),
        shuffled=_rate(resample([task for task, _ in swapped], [hint for _, hint in swapped])),
        none=_rate(resample(tasks, [None] * len(tasks))),
    )


def shuffled_hints(hints: Sequence[str]) -> list[str | None]:
    """Give each attempt the next attempt's hint that reads differently; None when all read alike."""
    count = len(hints)
    return [
        next((hints[(i + step) % count] for step in range(1, count) if hints[(i + step) % count] != hint), None)
        for i, hint in enumerate(hints)
    ]


def _rate(trajectories: Sequence[Trajectory | None]) -> Rate:
    made = [trajectory for trajectory in trajectories if trajectory is not None]
    return Rate(sum(trajectory.grade.success for trajectory in made), len(made))
