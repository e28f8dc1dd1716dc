"""One step's episodes as a flat dict of floats, under TRL's names where it has them."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import fmean, pstdev

from healthgym.diagnostics.text import is_degenerate, prose_of, repetition
from healthgym.rewards.diagnostics import FLAT, grouped, reward_diagnostics
from healthgym.rollout.trajectory import Trajectory

StepMetrics = dict[str, float]
"""Metric by name. Training adds its own ("loss", "tt_opd/...", "grad_norm/...") and writes one JSON object a step."""


def step_metrics(trajectories: Sequence[Trajectory], *, ungraded: int = 0) -> StepMetrics:
    """Return what one step's episodes looked like.

    Args:
        trajectories: Finished episodes; those with the same task and group number form a group.
        ungraded: Episodes lost to a grader or infrastructure error: counted, never scored.

    Raises:
        ValueError: there are no trajectories.
    """
    found = reward_diagnostics(trajectories, ungraded=ungraded)
    metrics = {**_lengths(trajectories), **_rewards(trajectories), **_episodes(trajectories), **_tools(trajectories)}
    metrics.update(found.metrics())
    by_domain: dict[str, list[float]] = defaultdict(list)
    for trajectory in trajectories:
        by_domain[trajectory.domain].append(float(trajectory.grade.success))
    metrics.update({f"domain/{name}/success": fmean(values) for name, values in by_domain.items()})
    return metrics


def _lengths(trajectories: Sequence[Trajectory]) -> StepMetrics:
    tokens = [t.assistant_tokens for t in trajectories]
    return {
        "completions/mean_length": fmean(tokens),
        "completions/min_length": float(min(tokens)),
        "completions/max_length": float(max(tokens)),
        "completions/clipped_ratio": fmean(t.clipped for t in trajectories),
    }


def _rewards(trajectories: Sequence[Trajectory]) -> StepMetrics:
    deviations = [pstdev([t.reward for t in group]) for group in grouped(trajectories).values()]
    scores = trajectories[0].grade.scores
    return {
        "reward": fmean(t.reward for t in trajectories),
        "reward_std": fmean(deviations),
        "frac_reward_zero_std": fmean(deviation**2 <= FLAT for deviation in deviations),
        **{f"reward/{name}/mean": fmean(t.grade.scores[name] for t in trajectories) for name in scores},
    }


def _episodes(trajectories: Sequence[Trajectory]) -> StepMetrics:
    prose = [prose_of(t.messages) for t in trajectories]
    return {
        "episode/success": fmean(t.grade.success for t in trajectories),
        "episode/turns": fmean(t.num_turns for t in trajectories),
        "episode/tool_calls": fmean(len(t.tool_calls) for t in trajectories),
        "episode/single_turn_share": fmean(t.num_turns <= 1 for t in trajectories),
        "episode/idle_turns": fmean(t.idle_turns for t in trajectories),
        "episode/repetition": fmean(max(map(repetition, texts), default=0.0) for texts in prose),
        "episode/degenerate": fmean(any(map(is_degenerate, texts)) for texts in prose),
        "episode/hazards": fmean(len(t.grade.hazards) for t in trajectories),
        "episode/critical_hazards": fmean(t.grade.is_critical for t in trajectories),
        "episode/no_submission": fmean(t.grade.outcome == "no_submission" for t in trajectories),
        "episode/evidence_share": fmean(t.grade.evidence_share for t in trajectories),
    }


def _tools(trajectories: Sequence[Trajectory]) -> StepMetrics:
    calls = [len(t.tool_calls) for t in trajectories]
    names = Counter(name for t in trajectories for name in t.tool_calls)
    return {
        "tools/call_frequency": fmean(calls),
        "tools/failure_frequency": sum(t.tool_failures for t in trajectories) / max(1, sum(calls)),
        **{f"tools/count/{name}": float(count) for name, count in sorted(names.items())},
    }
