"""What one step's episodes looked like, as sums that can be added across processes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import pvariance

from healthgym.rollout import Trajectory
from healthgym.training.degenerate import assistant_texts, is_degenerate, repetition
from healthgym.training.guards import echo_share
from healthgym.training.hints import HINT_WORDING

Sums = dict[str, tuple[float, int]]
"""Sum and count by metric name; the metric is their quotient."""


def episode_sums(trajectories: Sequence[Trajectory], num_generations: int) -> Sums:
    """Return the sums behind every `episode/...` and `tools/...` metric of a step.

    Args:
        trajectories: Graded episodes of this process, those of one group next to each other.
        num_generations: Size of a group; groups cut by a process boundary are left out of the spread metrics.
    """
    values: dict[str, list[float]] = defaultdict(list)
    for trajectory in trajectories:
        for name, value in _of_one(trajectory).items():
            values[name].append(value)
    sums: Sums = {name: (sum(seen), len(seen)) for name, seen in values.items()}
    count = len(trajectories)
    for prefix, labels in _labels(trajectories).items():
        sums.update({f"{prefix}/{label}": (float(number), count) for label, number in labels.items()})
    calls = sum(len(trajectory.tool_calls) for trajectory in trajectories)
    sums["tools/failure_frequency"] = (float(sum(t.tool_failures for t in trajectories)), max(calls, 1))
    sums.update(_spread(trajectories, num_generations))
    return sums


def merge_sums(parts: Iterable[Mapping[str, tuple[float, int]]]) -> dict[str, float]:
    """Add the sums of all processes and return the metrics, in a fixed order.

    A label seen by one process only counts as 0 over the episodes of the others.
    """
    parts = list(parts)
    totals: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for part in parts:
        for name, (value, count) in part.items():
            totals[name][0] += value
            totals[name][1] += count
    episodes = sum(part.get("episode/success", (0.0, 0))[1] for part in parts)
    for name, total in totals.items():
        if name.startswith(_LABELLED):
            total[1] = episodes
    return {name: total / count for name, (total, count) in sorted(totals.items()) if count}


_LABELLED = ("episode/stop/", "episode/outcome/", "tools/calls/")


def _of_one(trajectory: Trajectory) -> dict[str, float]:
    texts = assistant_texts(trajectory.messages)
    grade = trajectory.grade
    return {
        "episode/success": float(grade.success),
        "episode/reward": trajectory.reward,
        f"episode/reward/{trajectory.domain}": trajectory.reward,
        "episode/turns": trajectory.num_turns,
        "episode/single_turn_share": float(trajectory.num_turns <= 1),
        "episode/idle_turns": trajectory.idle_turns,
        "episode/assistant_tokens": trajectory.assistant_tokens,
        "episode/clipped_ratio": float(trajectory.clipped),
        "episode/minutes": trajectory.minutes,
        "episode/hazards": len(grade.hazards),
        "episode/critical_hazards": float(grade.is_critical),
        "episode/repetition": max(map(repetition, texts), default=0.0),
        "episode/degenerate": float(any(map(is_degenerate, texts))),
        "episode/hint_echo": echo_share(["\n".join(texts)], HINT_WORDING),
        "tools/call_frequency": len(trajectory.tool_calls),
        **{f"episode/score/{name}": score for name, score in grade.scores.items()},
    }


def _labels(trajectories: Sequence[Trajectory]) -> dict[str, Counter[str]]:
    return {
        "episode/stop": Counter(t.stop_reason for t in trajectories),
        "episode/outcome": Counter(t.grade.outcome for t in trajectories),
        "tools/calls": Counter(name for t in trajectories for name in t.tool_calls),
    }


def _spread(trajectories: Sequence[Trajectory], num_generations: int) -> Sums:
    """Share of groups in which each score varies at all: one that never does cannot teach."""
    groups: dict[tuple[str, int], list[Trajectory]] = defaultdict(list)
    for trajectory in trajectories:
        groups[trajectory.task_id, trajectory.group].append(trajectory)
    whole = [group for group in groups.values() if len(group) >= num_generations > 1]
    names = trajectories[0].grade.scores if trajectories else ()
    return {
        f"episode/score_varies/{name}": (
            float(sum(pvariance([t.grade.scores[name] for t in group]) > 1e-12 for group in whole)),
            len(whole),
        )
        for name in names
        if whole
    }
