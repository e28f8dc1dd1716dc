"""The one rollout loop: keeps many episodes in flight around a policy and returns their trajectories."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from healthgym.envs.episode import Episode
from healthgym.errors import ConfigError, GraderError, HealthgymError
from healthgym.rewards import RewardConfig, compose
from healthgym.rollout.applier import Applier, Inline, applier
from healthgym.rollout.markup import with_hint
from healthgym.rollout.policy import Policy, TurnRequest, TurnResult
from healthgym.rollout.trajectory import Trajectory
from healthgym.rollout.transcript import Transcript
from healthgym.seeds import mix_seed

if TYPE_CHECKING:
    from healthgym.rollout.template import ChatTemplate

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt to make. Attempts of a group share task and world seed.

    hint: text shown as a user message of its own before the first turn; it is no part of the episode's messages.
    sampling: seeds its turns, together with the loop's seed; None takes the job's place among the others.
    """

    task_id: str
    group: int = 0
    seed: int = 0
    hint: str | None = None
    sampling: int | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """A job that gave no trajectory, and why: its prompt leaves no room for a turn, or something of ours failed."""

    job: Job
    kind: Literal["no_room", "infrastructure", "grader"]
    reason: str


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Token budgets, for policies that work on tokens.

    turn: most tokens of one assistant turn.
    completion: most tokens of one episode after its prompt, the environment's included; None for no limit.
    context: most tokens of prompt and completion together; None for no limit.
    """

    turn: int = 512
    completion: int | None = None
    context: int | None = None

    def room(self, transcript: Transcript, written: int = 0) -> int:
        """Return how many tokens the next turn may take once the environment has `written` more; 0 or less for none."""
        room = self.turn
        if self.completion is not None:
            room = min(room, self.completion - transcript.completion_length - written)
        if self.context is not None:
            room = min(room, self.context - len(transcript.ids) - written)
        return room


MakeEpisode = Callable[[Job], Episode]
"""Starts the episode of a job, for instance with `episode_maker` of healthgym.rollout.source."""


@dataclass(slots=True)
class _Running:
    """One episode in flight."""

    job: Job
    episode: Episode
    transcript: Transcript | None
    clipped: bool = False
    num_tokens: int = 0


def collect(
    jobs: Sequence[Job],
    policy: Policy,
    make_episode: MakeEpisode,
    *,
    template: "ChatTemplate | None" = None,
    max_tokens_per_turn: int = 512,
    max_completion_tokens: int | None = None,
    max_context: int | None = None,
    in_flight: int = 64,
    reward: RewardConfig | None = None,
    on_trajectory: Callable[[Trajectory], None] | None = None,
    on_lost: Callable[[Lost], None] | None = None,
    seed: int = 0,
    workers: int = 0,
) -> list[Trajectory | None]:
    """Play every job to its end and return the trajectories in the order of the jobs.

    A new episode starts as soon as one ends, so a long episode never holds up the others.

    Args:
        jobs: The attempts to make.
        policy: Writes the assistant turns.
        make_episode: Starts a job's episode.
        template: Renders prompts and answers to tokens; None for policies that work on text.
        max_tokens_per_turn: Most tokens of one assistant turn.
        max_completion_tokens: Most tokens of one episode after its prompt, the environment's included.
        max_context: Most tokens of prompt and completion together.
        in_flight: Episodes that advance together.
        reward: How a grade becomes the reward; None takes the default.
        on_trajectory: Called with each trajectory as it finishes, for instance a TraceWriter.
        on_lost: Called with each job that gives none. With it, a prompt without room and an error of the grader cost that
            job alone and the others go on; without it they are raised.
        seed: With the job's place it seeds the sampling of each turn.
        workers: Threads that apply turns to their episodes, for tools that wait on something outside the process, such
            as a patient played by a remote model; 0 applies them in this thread.

    Returns:
        One entry per job; None where the infrastructure failed: such an episode is never scored.

    Raises:
        ConfigError: A prompt leaves no room for a turn, or the policy gives no tokens though a template was given.
        GraderError: Grading failed, which is a bug and never a score of 0.
    """
    loop = _Loop(policy, make_episode, template, reward, seed)
    loop.on_lost = on_lost
    loop.limits = Limits(turn=max_tokens_per_turn, completion=max_completion_tokens, context=max_context)
    with applier(workers) as loop.applier:
        return loop.run(jobs, in_flight, on_trajectory)


class _Loop:
    def __init__(
        self,
        policy: Policy,
        make_episode: MakeEpisode,
        template: "ChatTemplate | None",
        reward: RewardConfig | None,
        seed: int,
    ) -> None:
        self.policy, self.make_episode, self.template, self.seed = policy, make_episode, template, seed
        self.reward = reward or RewardConfig()
        self.limits = Limits()
        self.applier: Applier = Inline()
        self.running: dict[int, _Running] = {}
        self.on_lost: Callable[[Lost], None] | None = None

    def run(
        self, jobs: Sequence[Job], in_flight: int, on_trajectory: Callable[[Trajectory], None] | None
    ) -> list[Trajectory | None]:
        if in_flight < 1:
            raise ConfigError(f"in_flight must be at least 1, got {in_flight}")
        made: list[Trajectory | None] = [None] * len(jobs)
        failures, waiting = 0, iter(enumerate(jobs))
        try:
            while True:
                while len(self.running) < in_flight and (entry := next(waiting, None)) is not None:
                    self._start(*entry)
                if not self.running:
                    break
                if len(self.running) > self.applier.pending:
                    for result in self.policy.poll():
                        self._take(result)
                        failures += self._settle(made, on_trajectory, wait=False)
                all_wait = len(self.running) == self.applier.pending
                failures += self._settle(made, on_trajectory, wait=all_wait)
        finally:
            for key in list(self.running):
                self._close(key)
        if failures:
            logger.warning("%d of %d episodes failed in the infrastructure and are not scored", failures, len(jobs))
        return made

    def _start(self, key: int, job: Job) -> None:
        episode, template, transcript = self.make_episode(job), self.template, None
        if template is not None:
            if job.hint is None:
                prompt = template.prompt_ids(episode.messages, episode.tools)
            else:
                prompt = template.insert_hint(episode.messages, job.hint, episode.tools)
            transcript = Transcript(prompt)
            if self.limits.room(transcript) < 1:
                reason = (
                    f"The prompt of {job.task_id} takes {len(transcript.ids)} tokens and leaves no room for a turn "
                    f"({self.limits}). Raise max_context, or use a shorter prompt profile."
                )
                if self.on_lost is None:
                    raise ConfigError(reason)
                return self.on_lost(Lost(job, "no_room", reason))
        self.running[key] = one = _Running(job, episode, transcript)
        self._ask(key, one)
        return None

    def _ask(self, key: int, one: _Running) -> None:
        transcript, episode = one.transcript, one.episode
        messages: Sequence[Mapping[str, Any]] = episode.messages
        if one.job.hint is not None:
            messages = with_hint(messages, one.job.hint)
        self.policy.submit(
            TurnRequest(
                key=key,
                task_id=one.job.task_id,
                messages=messages,
                tools=episode.tools,
                prompt_ids=list(transcript.ids) if transcript is not None else (),
                max_tokens=self.limits.room(transcript) if transcript is not None else self.limits.turn,
                seed=mix_seed(self.seed, key if one.job.sampling is None else one.job.sampling, episode.turns),
            )
        )

    def _settle(
        self, made: list[Trajectory | None], on_trajectory: Callable[[Trajectory], None] | None, *, wait: bool
    ) -> int:
        """Go on with every episode whose turn was applied; return how many failed in the infrastructure."""
        failures = 0
        for applied in self.applier.done(wait=wait):
            one = self.running[applied.key]
            if applied.error is not None:
                failures += 1
                logger.warning("episode of %s failed in the infrastructure: %s", one.job.task_id, applied.error)
                self._close(applied.key)
                if self.on_lost is not None:
                    self.on_lost(Lost(one.job, "infrastructure", applied.error))
            elif self._answer(applied.key, one, applied.result, applied.answers):
                made[applied.key] = trajectory = self._graded(applied.key, one)
                if on_trajectory is not None and trajectory is not None:
                    on_trajectory(trajectory)
        return failures

    def _graded(self, key: int, one: _Running) -> Trajectory | None:
        """Return the finished trajectory, or None where grading failed and `on_lost` took that."""
        try:
            return self._finish(key, one)
        except GraderError as error:
            if self.on_lost is None:
                raise
            self._close(key)
            self.on_lost(Lost(one.job, "grader", str(error)))
            return None

    def _take(self, result: TurnResult) -> None:
        """Record the tokens of one turn and have it applied to its episode."""
        one = self.running.get(result.key)
        if one is None:
            raise HealthgymError(f"{self.policy.name} answered for episode {result.key}, which is not running")
        transcript = one.transcript
        if transcript is not None and result.error is None:
            if not result.token_ids:
                raise ConfigError(
                    f"{self.policy.name} gave a turn without tokens, but a chat template was given. Pass template=None "
                    "for policies that work on text."
                )
            transcript.add_turn(result)
        one.clipped |= result.clipped
        one.num_tokens += result.num_tokens or 0
        self.applier.apply(one.episode, result)

    def _answer(self, key: int, one: _Running, result: TurnResult, answers: Sequence[Mapping[str, Any]]) -> bool:
        """Take what the environment answered; return whether the episode is over, else ask for the next turn."""
        episode, transcript, template = one.episode, one.transcript, self.template
        if episode.is_over:
            return True
        if transcript is not None and template is not None:
            written = [*template.closing_ids(result.token_ids), *template.environment_ids(answers)]
            if self.limits.room(transcript, len(written)) < 1:
                one.clipped = True
                episode.stop("token_budget")
                return True
            transcript.add_environment(written)
        self._ask(key, one)
        return False

    def _finish(self, key: int, one: _Running) -> Trajectory:
        episode, transcript = one.episode, one.transcript
        grade = episode.grade()
        self._close(key)
        task, calls = episode.task, episode.world.calls
        return Trajectory(
            task_id=task.id,
            domain=task.domain,
            family=task.family,
            split=task.split,
            difficulty=task.difficulty,
            group=one.job.group,
            seed=one.job.seed,
            prompt_ids=transcript.prompt_ids if transcript else (),
            completion_ids=transcript.completion_ids if transcript else (),
            completion_mask=transcript.mask if transcript else (),
            logprobs=transcript.logprobs if transcript else None,
            turns=tuple(transcript.turns) if transcript else (),
            messages=episode.messages,
            tools=episode.tools,
            grade=grade,
            reward=compose(grade, self.reward),
            stop_reason=episode.stop_reason or "",
            assistant_tokens=transcript.assistant_tokens if transcript else one.num_tokens,
            num_turns=episode.turns,
            tool_calls=tuple(call.tool for call in calls),
            tool_failures=episode.malformed_calls + sum(call.error is not None for call in calls),
            idle_turns=episode.idle_turns,
            minutes=episode.world.minutes,
            clipped=one.clipped,
            policy=self.policy.name,
            extra={"hinted": True} if one.job.hint is not None else {},
        )

    def _close(self, key: int) -> None:
        del self.running[key]
        self.policy.cancel(key)
