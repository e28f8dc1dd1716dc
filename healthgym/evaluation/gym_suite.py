"""Evaluates a policy on tasks of the gym, through the rollout loop that training uses."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from statistics import fmean
from typing import TYPE_CHECKING, Any

from healthgym.envs.prompts import PromptProfile
from healthgym.errors import ConfigError
from healthgym.evaluation.episodes import FINISHED, has_degenerated
from healthgym.evaluation.estimate import score_estimate
from healthgym.evaluation.statistics import Interval, pass_hat_k
from healthgym.rewards import RewardConfig
from healthgym.rollout.collect import Job, Lost, collect
from healthgym.rollout.policy import Policy
from healthgym.rollout.source import episode_maker
from healthgym.rollout.trajectory import Trajectory
from healthgym.tasks import Suite
from healthgym.world import Services

if TYPE_CHECKING:
    from healthgym.rollout.template import ChatTemplate


@dataclass(frozen=True, kw_only=True)
class EvalResult:
    """What one policy did on one set of tasks. Rates and means are over the n graded episodes.

    An episode cut short or fallen into degenerate text has not succeeded, and is counted beside the rate as well. One
    that was lost to a grader or infrastructure error is only counted: it is in no rate and no mean.
    """

    policy: str
    success: float
    ci: Interval
    """95 %: Wilson's with one attempt a task, else over tasks, see `healthgym.evaluation.estimate`."""
    n: int
    tasks: int
    mean_reward: float
    mean_tokens: float | None
    """Assistant tokens; None for a policy that works on text."""
    mean_turns: float
    mean_tool_calls: float
    hazards: float
    """Per episode."""
    scores: Mapping[str, float]
    by_difficulty: Mapping[str, Mapping[str, Any]]
    by_domain: Mapping[str, Mapping[str, Any]]
    by_family: Mapping[str, Mapping[str, Any]]
    counts: Mapping[str, int]
    """degenerate, truncated, grader_error, infra_error."""
    pass_hat: Mapping[int, float] = field(default_factory=dict)
    """By k, the chance that k attempts at a task all succeed; empty with one attempt a task."""
    hashes: Mapping[str, str] = field(default_factory=dict)
    rows: tuple[Mapping[str, Any], ...] = ()
    """One per graded episode, in the order of tasks and seeds: what a paired comparison needs."""

    def to_dict(self, *, rows: bool = False) -> dict[str, Any]:
        """Return the result as JSON-like data, the rows only when asked for."""
        record = asdict(self)
        record["ci"] = list(self.ci)
        if not rows:
            record.pop("rows")
        return record

    def outcomes(self) -> list[tuple[str, int, bool]]:
        """Return (task id, world seed, success) of each episode: enough to compare two policies in pairs."""
        return [(row["task_id"], row["seed"], row["success"]) for row in self.rows]


def evaluate_policy(
    policy: Policy,
    suite: Suite,
    task_ids: Sequence[str],
    *,
    seeds: Sequence[int] = (0,),
    template: "ChatTemplate | None" = None,
    profile: PromptProfile = "full",
    max_turns: int | None = None,
    max_tokens_per_turn: int = 512,
    max_completion_tokens: int | None = None,
    max_context: int | None = None,
    in_flight: int = 64,
    reward: RewardConfig | None = None,
    services: Services | None = None,
    sampling_seed: int = 0,
    on_trajectory: Callable[[Trajectory], None] | None = None,
    hashes: Mapping[str, str] | None = None,
) -> EvalResult:
    """Play every task once for each world seed and sum up what happened.

    Args:
        policy: Writes the assistant turns.
        suite: Holds the tasks.
        task_ids: Tasks to play.
        seeds: World seeds; each is one attempt at each task.
        template: Renders tokens; None for policies that work on text.
        profile: How much the prompt says; the same as in training.
        max_turns: Lowers the tasks' own limit.
        max_tokens_per_turn: See `healthgym.rollout.collect.collect`, as for the next three.
        max_completion_tokens: Most tokens of one episode after its prompt.
        max_context: Most tokens of prompt and completion together.
        in_flight: Episodes that advance together.
        reward: How a grade becomes the reward; None takes the default.
        services: What episodes share: retriever, patient.
        sampling_seed: Seed of the policy's sampling.
        on_trajectory: Called with each trajectory as it finishes; `group` is its place in tasks x seeds.
        hashes: Hashes of weights, template and scorer to carry along; that of the tasks is added.

    Raises:
        ConfigError: no tasks or no seeds were given.
        NotRegistered: a task id is unknown; names the nearest.
    """
    if not task_ids or not seeds:
        raise ConfigError(f"evaluate_policy() needs tasks and seeds, got {len(task_ids)} tasks and {len(seeds)} seeds")
    for task_id in task_ids:
        suite.case(task_id)
    jobs = [
        Job(task_id, group=place * len(seeds) + at, seed=seed)
        for place, task_id in enumerate(task_ids)
        for at, seed in enumerate(seeds)
    ]
    done: dict[int, Trajectory] = {}
    lost: Counter[str] = Counter()

    def keep(trajectory: Trajectory) -> None:
        done[trajectory.group] = trajectory
        if on_trajectory is not None:
            on_trajectory(trajectory)

    def note(one: Lost) -> None:
        if one.kind == "no_room":
            raise ConfigError(one.reason)
        lost[one.kind] += 1

    collect(
        jobs, policy, episode_maker(suite, services=services, profile=profile, max_turns=max_turns), template=template,
        max_tokens_per_turn=max_tokens_per_turn, max_completion_tokens=max_completion_tokens, max_context=max_context,
        in_flight=in_flight, reward=reward, on_trajectory=keep, on_lost=note, seed=sampling_seed,
    )  # fmt: skip
    finished = [done[job.group] for job in jobs if job.group in done]
    digests = {"tasks": task_digest(suite, task_ids), **(hashes or {})}
    return summarise(
        finished, policy=policy.name, grader_errors=lost["grader"], infra_errors=lost["infrastructure"], hashes=digests
    )


def summarise(
    trajectories: Sequence[Trajectory],
    *,
    policy: str,
    grader_errors: int = 0,
    infra_errors: int = 0,
    hashes: Mapping[str, str] | None = None,
) -> EvalResult:
    """Sum up finished episodes, in the order of tasks and seeds."""
    counts = {
        "degenerate": sum(map(has_degenerated, trajectories)),
        "truncated": sum(t.stop_reason not in FINISHED for t in trajectories),
        "grader_error": grader_errors,
        "infra_error": infra_errors,
    }
    total = _rate(trajectories)
    attempts: dict[str, list[bool]] = {}
    for trajectory in trajectories:
        attempts.setdefault(trajectory.task_id, []).append(trajectory.grade.success)
    names = trajectories[0].grade.scores if trajectories else ()
    has_tokens = any(t.completion_ids for t in trajectories)
    return EvalResult(
        policy=policy,
        success=total["success"],
        ci=(total["ci"][0], total["ci"][1]),
        n=len(trajectories),
        tasks=len(attempts),
        mean_reward=_mean([t.reward for t in trajectories]),
        mean_tokens=_mean([t.assistant_tokens for t in trajectories]) if has_tokens else None,
        mean_turns=_mean([t.num_turns for t in trajectories]),
        mean_tool_calls=_mean([len(t.tool_calls) for t in trajectories]),
        hazards=_mean([len(t.grade.hazards) for t in trajectories]),
        scores={name: _mean([t.grade.scores[name] for t in trajectories]) for name in names},
        by_difficulty=_by(trajectories, "difficulty"),
        by_domain=_by(trajectories, "domain"),
        by_family=_by(trajectories, "family"),
        counts=counts,
        pass_hat=_pass_hat(list(attempts.values())),
        hashes=dict(hashes or {}),
        rows=tuple(_row(t) for t in trajectories),
    )


def task_digest(suite: Suite, task_ids: Sequence[str]) -> str:
    """Return the SHA-256 over the given tasks, golds and charts included."""
    total = sha256()
    for task_id in task_ids:
        case = suite.case(task_id)
        total.update(json.dumps(case.task.to_dict(), sort_keys=True, default=str).encode())
        total.update(repr(sorted(case.charts.items())).encode())
    return total.hexdigest()


def _rate(trajectories: Sequence[Trajectory]) -> dict[str, Any]:
    """Return n, success and its interval; attempts at one task are one cluster."""
    found = score_estimate([float(t.grade.success) for t in trajectories], [t.task_id for t in trajectories])
    return {"n": found.n, "success": found.value or 0.0, "ci": list(found.interval or (0.0, 1.0))}


def _by(trajectories: Sequence[Trajectory], attribute: str) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        groups.setdefault(str(getattr(trajectory, attribute)), []).append(trajectory)
    return {name: _rate(group) for name, group in sorted(groups.items())}


def _pass_hat(attempts: Sequence[Sequence[bool]]) -> dict[int, float]:
    most = min((len(tries) for tries in attempts), default=1)
    if most < 2:
        return {}
    return {k: fmean(pass_hat_k(len(tries), sum(tries), k) for tries in attempts) for k in range(1, most + 1)}


def _row(trajectory: Trajectory) -> dict[str, Any]:
    return {
        "task_id": trajectory.task_id, "seed": trajectory.seed, "success": trajectory.grade.success,
        "outcome": trajectory.grade.outcome, "reward": trajectory.reward, "turns": trajectory.num_turns,
        "tokens": trajectory.assistant_tokens, "tool_calls": len(trajectory.tool_calls),
        "hazards": len(trajectory.grade.hazards), "stop_reason": trajectory.stop_reason, "clipped": trajectory.clipped,
    }  # fmt: skip


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0
