"""Episodes as rows: plays attempts through the training's own loop, and reads what became of each."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from healthgym.diagnostics.text import is_degenerate, prose_of
from healthgym.envs.episode import Episode
from healthgym.evaluation.benchmark import Keep, Settings
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.items import Attempt, Item
from healthgym.evaluation.refusals import is_refusal
from healthgym.evaluation.rows import Row, Status
from healthgym.rewards import RewardConfig
from healthgym.rollout.collect import Job, Lost, MakeEpisode, collect
from healthgym.rollout.trajectory import Trajectory
from healthgym.seeds import mix_seed

FINISHED = ("submitted", "parse_failure")
"""Stop reasons by which an episode ended itself; every other one cut it short."""
LOST_AS: Mapping[str, Status] = {
    "no_room": "truncated", "infrastructure": "infra_error", "grader": "grader_error",
}  # fmt: skip
"""Status of an attempt that gave no trajectory. A prompt that fills the model's context is the model's limit."""

Judge = Callable[[Attempt, Trajectory], Row]
"""Makes the row of a finished episode."""


def play_attempts(
    attempts: Sequence[Attempt],
    candidate: Candidate,
    settings: Settings,
    make_episode: MakeEpisode,
    judge: Judge,
    keep: Keep,
    *,
    task_id: Callable[[Item], str] = lambda item: item.id,
    reward: RewardConfig | None = None,
) -> None:
    """Play every attempt as an episode and keep one row for each as it ends.

    What a turn is sampled with depends on the item, the attempt's seed and the turn alone, so an evaluation continued
    after an interruption is the one that was not interrupted.

    Args:
        attempts: What to play.
        candidate: Writes the turns.
        settings: Budgets and seed of the sampling.
        make_episode: Starts a job's episode; `group` of a job is the place of its attempt.
        judge: Makes the row of a finished episode.
        keep: Takes the rows.
        task_id: Names the task of an item.
        reward: How a grade becomes the reward.
    """

    def take(trajectory: Trajectory) -> None:
        keep(judge(attempts[trajectory.group], trajectory), trajectory)

    def take_lost(lost: Lost) -> None:
        keep(lost_row(attempts[lost.job.group], lost))

    jobs = [
        Job(task_id(one.item), group=place, seed=one.seed, sampling=mix_seed(one.item.id, one.seed))
        for place, one in enumerate(attempts)
    ]
    collect(
        jobs, candidate.policy, make_episode, template=candidate.template, max_tokens_per_turn=settings.max_tokens,
        max_completion_tokens=settings.max_completion_tokens, max_context=candidate.max_context,
        in_flight=settings.in_flight, reward=reward, on_trajectory=take, on_lost=take_lost, seed=settings.sampling_seed,
    )  # fmt: skip


def has_degenerated(trajectory: Trajectory) -> bool:
    """Say whether any turn of the agent's prose has fallen apart."""
    return any(map(is_degenerate, prose_of(trajectory.messages)))


def has_refused(trajectory: Trajectory) -> bool:
    """Say whether the agent's last prose declines what was asked."""
    prose = prose_of(trajectory.messages)
    return bool(prose) and is_refusal(prose[-1])


def status_of(trajectory: Trajectory) -> Status:
    """Return what became of an episode: a submission is an answer, whatever its prose; else what kept it from one.

    One without a submission is `refused` when its last prose refuses, `degenerate` when any of its prose is, `unparsed` when
    three turns in a row held no call that ran, and `truncated` when a limit cut it short.
    """
    if trajectory.stop_reason == "submitted":
        return "answered"
    if has_refused(trajectory):
        return "refused"
    if has_degenerated(trajectory):
        return "degenerate"
    return "unparsed" if trajectory.stop_reason == "parse_failure" else "truncated"


def lost_row(attempt: Attempt, lost: Lost) -> Row:
    """Return the row of an attempt that gave no trajectory."""
    status = LOST_AS[lost.kind]
    ours = status != "truncated"
    return Row(
        id=attempt.item.id, attempt=attempt.number, status=status, cluster=attempt.item.cluster,
        strata=attempt.item.strata, seed=attempt.seed, error=lost.reason if ours else "",
        detail={} if ours else {"stop_reason": "no_room", "reason": lost.reason},
    )  # fmt: skip


def counted(trajectory: Trajectory) -> dict[str, Any]:
    """Return a row's counts of an episode, by field."""
    messages = [message for message in trajectory.messages if message.get("role") == "assistant"]
    last = messages[-1] if messages else {}
    return {
        "output": str(last.get("raw") or last.get("content") or ""),
        "tokens": trajectory.assistant_tokens or None,
        "turns": trajectory.num_turns,
        "tool_calls": len(trajectory.tool_calls),
        "hazards": len(trajectory.grade.hazards),
    }


def replay(episode: Episode, trajectory: Trajectory) -> Episode:
    """Play a stored trajectory's assistant messages in a fresh episode, end it as it ended, and return it."""
    for message in trajectory.messages:
        if message.get("role") != "assistant":
            continue
        if episode.is_over:
            break
        episode.apply(str(message["raw"]) if message.get("raw") else _spoken(message))
    if not episode.is_over:
        episode.stop(trajectory.stop_reason)  # type: ignore[arg-type]
    return episode


def _spoken(message: Mapping[str, Any]) -> str | Mapping[str, Any]:
    """Return a message as it was applied: text without calls as text, structured calls as they are."""
    return message if message.get("tool_calls") else str(message.get("content") or "")
