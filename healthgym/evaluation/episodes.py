"""Attempts played as episodes of the one rollout loop: each gives exactly one outcome, whatever goes wrong."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from healthgym.diagnostics.text import is_degenerate, prose_of
from healthgym.envs.episode import Episode
from healthgym.evaluation.benchmark import Settings
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.items import Attempt
from healthgym.evaluation.refusals import is_refusal
from healthgym.evaluation.rows import Status
from healthgym.rollout.collect import Job, Lost, collect
from healthgym.rollout.trajectory import Trajectory
from healthgym.seeds import mix_seed

Start = Callable[[Attempt], Episode]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one attempt.

    episode, trajectory: as they ended; None when the attempt was lost.
    lost: why it says nothing about the model; None when it was played to its end.
    """

    attempt: Attempt
    episode: Episode | None = None
    trajectory: Trajectory | None = None
    lost: Status | None = None
    error: str = ""


def play(
    attempts: Sequence[Attempt],
    start: Start,
    candidate: Candidate,
    settings: Settings,
    on_outcome: Callable[[Outcome], None],
) -> None:
    """Play every attempt and hand over its outcome as it ends.

    An attempt that is lost, to a prompt without room for a turn, the engine or the grader, holds up no other. The sampling
    of an attempt depends on its item, its number and the settings' seed alone, so a resumed run samples what an unbroken
    one does.

    Args:
        attempts: What to play.
        start: Starts the episode of an attempt.
        candidate: Writes the assistant turns.
        settings: Budgets of tokens and how many episodes advance together; turns are up to `start`.
        on_outcome: Called once for each attempt.
    """
    running: dict[int, Episode] = {}

    def make_episode(job: Job) -> Episode:
        episode = running[job.group] = start(attempts[job.group])
        return episode

    def finished(trajectory: Trajectory) -> None:
        place = trajectory.group
        on_outcome(Outcome(attempts[place], running.pop(place), trajectory))

    def lost(one: Lost) -> None:
        running.pop(one.job.group, None)
        status: Status = "grader_error" if one.kind == "grader" else "infra_error"
        on_outcome(Outcome(attempts[one.job.group], lost=status, error=one.reason))

    jobs = [
        Job(one.item.id, group=place, seed=one.seed, sampling=mix_seed(one.item.id, one.number))
        for place, one in enumerate(attempts)
    ]
    collect(
        jobs, candidate.policy, make_episode, template=candidate.template, max_tokens_per_turn=settings.max_tokens,
        max_completion_tokens=settings.max_completion_tokens, max_context=candidate.max_context,
        in_flight=settings.in_flight, on_trajectory=finished, on_lost=lost, seed=settings.sampling_seed,
    )  # fmt: skip


def status_of(trajectory: Trajectory) -> Status:
    """Return `answered` for an episode that was submitted, and what kept it from that for any other.

    One without a submission is `refused` when its last prose refuses, `degenerate` when any of its prose is, `unparsed` when
    three turns in a row held no call that ran, and `truncated` when a limit of turns, calls, time, cost or tokens cut it
    short.
    """
    if trajectory.stop_reason == "submitted":
        return "answered"
    prose = prose_of(trajectory.messages)
    if prose and is_refusal(prose[-1]):
        return "refused"
    if any(map(is_degenerate, prose)):
        return "degenerate"
    return "unparsed" if trajectory.stop_reason == "parse_failure" else "truncated"


def last_words(trajectory: Trajectory) -> str:
    """Return the last assistant message as it was written."""
    for message in reversed(trajectory.messages):
        if message["role"] == "assistant":
            return str(message.get("raw") or message.get("content") or "")
    return ""
