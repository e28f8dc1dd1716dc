"""Watches a distilled run for the ways its teacher is known to fail."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """A detector that tripped: what was seen, and what the reader may do."""

    name: str
    step: int
    value: float
    limit: float
    message: str


def slope(values: Sequence[float]) -> float:
    """Return the least-squares slope of a series, per step; 0 for fewer than two values."""
    count = len(values)
    if count < 2:
        return 0.0
    centre, mean = (count - 1) / 2, sum(values) / count
    spread = sum((index - centre) ** 2 for index in range(count))
    return sum((index - centre) * (value - mean) for index, value in enumerate(values)) / spread


def absorbed_drift(
    step: int, kl: Sequence[float], distance: Sequence[float], *, kl_high: float, kl_slope: float, window: int
) -> Finding | None:
    """Say whether the teacher follows a student that runs away from it.

    The divergence climbs by more than `kl_slope` nats a step over the last `window` steps and has reached half of
    `kl_high`, although the teacher's weights do not fall behind: it takes on the drift it should resist. Published
    collapses went 0.3, 0.7, 1.5 within ten steps (arXiv:2605.02943).
    """
    recent = list(kl)[-window:]
    climb = slope(recent)
    if len(recent) < window or climb <= kl_slope or sum(recent[-2:]) / 2 < kl_high / 2:
        return None
    if slope(list(distance)[-window:]) > max(distance[-1], 1e-12) / window:
        return None  # the gap in weights opens as fast: the student leaves, the teacher stands
    return Finding(
        "absorbed_drift", step, climb, kl_slope,
        f"the divergence climbs {climb:.3f} nats a step while the teacher keeps up with the student: "
        "it absorbs the drift. Lower lambda, or raise teacher.ema_decay.",
    )  # fmt: skip


def stale_teacher(step: int, *, age: int, distance: float, max_age: int, max_distance: float) -> Finding | None:
    """Say whether the teacher has stood still for more than `max_age` steps and is far from the student."""
    if age <= max_age or distance <= max_distance:
        return None
    return Finding(
        "stale_teacher", step, distance, max_distance,
        f"the teacher has not moved for {age} steps and lies {distance:.2f} of the student's norm away. "
        "Set teacher.update_every or teacher.copy_every lower.",
    )  # fmt: skip


def leaked_hints(step: int, share: float, *, max_share: float) -> Finding | None:
    """Say whether the student repeats hint wording, which it was never taught to write."""
    if share <= max_share:
        return None
    return Finding(
        "leaked_hints", step, share, max_share,
        f"{share:.0%} of the outputs echo the hint's wording. Try hint.level: outcome, or a smaller lambda.",
    )  # fmt: skip


def echo_share(outputs: Sequence[str], wording: Iterable[str]) -> float:
    """Return the share of outputs that contain any of the hint's phrases, letter case and spacing aside."""
    phrases = [_plain(phrase) for phrase in wording]
    echoes = sum(any(phrase in _plain(output) for phrase in phrases) for output in outputs)
    return echoes / len(outputs) if outputs else 0.0


class TeacherGuard:
    """Keeps the series the detectors need, across resumes."""

    def __init__(
        self, *, kl_high: float, kl_slope: float, window: int, max_age: int, max_distance: float, max_leakage: float
    ) -> None:
        self.kl_high, self.kl_slope, self.window = kl_high, kl_slope, window
        self.max_age, self.max_distance, self.max_leakage = max_age, max_distance, max_leakage
        self.kl: list[float] = []
        self.distance: list[float] = []

    def observe(
        self, step: int, *, kl: float, distance: float, age: int, leakage: float | None = None
    ) -> list[Finding]:
        """Take in one step's divergence, teacher distance, teacher age and hint leakage; return what tripped."""
        self.kl = [*self.kl, kl][-self.window :]
        self.distance = [*self.distance, distance][-self.window :]
        found = [
            absorbed_drift(
                step, self.kl, self.distance, kl_high=self.kl_high, kl_slope=self.kl_slope, window=self.window
            ),
            stale_teacher(step, age=age, distance=distance, max_age=self.max_age, max_distance=self.max_distance),
            None if leakage is None else leaked_hints(step, leakage, max_share=self.max_leakage),
        ]
        return [finding for finding in found if finding is not None]

    def state_dict(self) -> dict[str, Any]:
        """Return the series seen so far."""
        return {"kl": list(self.kl), "distance": list(self.distance)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        self.kl, self.distance = list(state["kl"]), list(state["distance"])


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
