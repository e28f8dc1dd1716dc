"""Can this batch teach? Reads the spread of each score inside the groups that advantages are taken over."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pvariance
from typing import TYPE_CHECKING

from healthgym.rewards.grade import SCORES

if TYPE_CHECKING:
    from healthgym.rollout.trajectory import Trajectory

FLAT = 1e-12
"""Variance under which a group counts as having no spread."""


@dataclass(frozen=True, kw_only=True)
class RewardDiagnostics:
    """What one batch of grouped trajectories can teach.

    within_share: by score, the share of its variance that lies inside groups; 0 when it has none at all. Only that share
        reaches the advantages.
    dead_share: share of groups whose rewards are all equal.
    gradeable_share: share of attempted episodes that could be graded; anything under 1 is our bug or our infrastructure.
    constant: scores without spread in any group. They cannot teach.
    """

    within_share: Mapping[str, float]
    dead_share: float
    gradeable_share: float
    constant: tuple[str, ...]

    def metrics(self) -> dict[str, float]:
        """Return the figures under the names they are logged by."""
        shares = {f"reward/{name}/within_group_share": share for name, share in self.within_share.items()}
        return {
            **shares,
            "group/dead_share": self.dead_share,
            "group/gradeable_share": self.gradeable_share,
            "group/constant_scores": float(len(self.constant)),
        }


def reward_diagnostics(trajectories: Sequence["Trajectory"], *, ungraded: int = 0) -> RewardDiagnostics:
    """Return what a batch can teach.

    Args:
        trajectories: Attempts; those with the same task and group number form a group.
        ungraded: Episodes of the batch that were lost to a grader or infrastructure error.

    Raises:
        ValueError: the batch is empty.
    """
    if not trajectories:
        raise ValueError("reward_diagnostics() got no trajectories; there is nothing to describe")
    groups = list(grouped(trajectories).values())
    values = {name: _score(name) for name in SCORES}
    shares = {name: _within_share(groups, value) for name, value in values.items()}
    shares["total"] = _within_share(groups, _reward)
    dead = sum(_spread(group, _reward) <= FLAT for group in groups)
    return RewardDiagnostics(
        within_share=shares,
        dead_share=dead / len(groups),
        gradeable_share=len(trajectories) / (len(trajectories) + ungraded),
        constant=tuple(name for name, value in values.items() if all(_spread(g, value) <= FLAT for g in groups)),
    )


def grouped(trajectories: Sequence["Trajectory"]) -> dict[tuple[str, int], list["Trajectory"]]:
    """Return the attempts by (task id, group number), in order of first appearance."""
    groups: dict[tuple[str, int], list[Trajectory]] = {}
    for trajectory in trajectories:
        groups.setdefault((trajectory.task_id, trajectory.group), []).append(trajectory)
    return groups


Value = Callable[["Trajectory"], float]


def _score(name: str) -> Value:
    return lambda trajectory: trajectory.grade.scores[name]


def _reward(trajectory: "Trajectory") -> float:
    return trajectory.reward


def _spread(group: Sequence["Trajectory"], value: Value) -> float:
    return pvariance([value(trajectory) for trajectory in group])


def _within_share(groups: Sequence[Sequence["Trajectory"]], value: Value) -> float:
    """Return the mean variance inside groups over the variance of all values: 1 less the share between groups."""
    everything = [value(trajectory) for group in groups for trajectory in group]
    total = pvariance(everything)
    if total <= FLAT:
        return 0.0
    inside = fmean(_spread(group, value) for group in groups for _ in group)
    return inside / total
