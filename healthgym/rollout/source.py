"""Episodes for training and evaluation: starts them, samples them from a policy, or plays them by script."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from healthgym.envs.episode import Episode
from healthgym.envs.prompts import PromptProfile
from healthgym.rewards import RewardConfig
from healthgym.rollout.collect import Job, MakeEpisode, collect
from healthgym.rollout.policy import Policy, Prepared
from healthgym.rollout.scripted import PlannedPolicy, Turn
from healthgym.rollout.template import ChatTemplate
from healthgym.rollout.trajectory import Trajectory
from healthgym.tasks import Suite
from healthgym.world import Services


class Row(Protocol):
    """What names one attempt."""

    @property
    def task_id(self) -> str: ...
    @property
    def group(self) -> int: ...
    @property
    def seed(self) -> int: ...


def episode_maker(
    suite: Suite,
    *,
    services: Services | None = None,
    profile: PromptProfile = "full",
    max_turns: int | None = None,
    images: bool = False,
) -> MakeEpisode:
    """Return a function that starts the episode of a job.

    Args:
        suite: Holds the tasks and their domains.
        services: What episodes share.
        profile: How much the prompt says.
        max_turns: Lowers the tasks' own limit.
        images: Whether messages hold images for a vision model, or captions alone.
    """

    def make(job: Job) -> Episode:
        case = suite.case(job.task_id)
        domain = suite.domains[case.task.domain]
        return Episode(
            case, domain, services=services, profile=profile, max_turns=max_turns, seed=job.seed, images=images
        )

    return make


class PolicySource:
    """Samples episodes from a policy, or plays given calls, always with the tokens the model reads.

    Args:
        policy: Writes the assistant turns of `sample`.
        make_episode: Starts a job's episode.
        template: The model's chat template.
        max_tokens_per_turn: Most tokens of one sampled turn.
        max_completion_tokens: Most tokens of one sampled episode after its prompt.
        max_context: Most tokens of prompt and completion together.
        in_flight: Episodes that advance together.
        reward: How a grade becomes the reward.
        on_trajectory: Called with each sampled trajectory as it finishes.
        workers: Threads that apply turns, for tools that wait on something outside the process.
    """

    def __init__(
        self,
        policy: Policy,
        make_episode: MakeEpisode,
        template: ChatTemplate,
        *,
        max_tokens_per_turn: int = 512,
        max_completion_tokens: int | None = None,
        max_context: int | None = None,
        in_flight: int = 64,
        reward: RewardConfig | None = None,
        on_trajectory: Callable[[Trajectory], None] | None = None,
        workers: int = 0,
    ) -> None:
        self.policy, self.make_episode, self.template = policy, make_episode, template
        self.limits: dict[str, Any] = {
            "max_tokens_per_turn": max_tokens_per_turn,
            "max_completion_tokens": max_completion_tokens,
            "max_context": max_context,
            "workers": workers,
        }
        self.in_flight, self.reward, self.on_trajectory = in_flight, reward, on_trajectory

    def sample(
        self, rows: Sequence[Row], *, seed: int, hints: Sequence[str | None] | None = None
    ) -> list[Trajectory | None]:
        """Return one sampled episode per row; None where the infrastructure failed.

        Args:
            rows: The attempts.
            seed: With a row's place it seeds all sampling.
            hints: A user message of its own at the end of a row's prompt, or None.
        """
        if isinstance(self.policy, Prepared):
            self.policy.prepare()
        told = hints if hints is not None else [None] * len(rows)
        jobs = [Job(row.task_id, row.group, row.seed, hint) for row, hint in zip(rows, told, strict=True)]
        return collect(
            jobs, self.policy, self.make_episode, template=self.template, in_flight=self.in_flight, reward=self.reward,
            on_trajectory=self.on_trajectory, seed=seed, **self.limits,
        )  # fmt: skip

    def scripted(self, plans: Iterable[tuple[str, Sequence[Turn]]]) -> list[Trajectory]:
        """Return one episode per (task id, calls by turn) in the model's own markup, without token limits."""
        listed = list(plans)
        policy = PlannedPolicy([turns for _, turns in listed], template=self.template)
        made = collect(
            [Job(task_id, group) for group, (task_id, _) in enumerate(listed)], policy, self.make_episode,
            template=self.template, max_tokens_per_turn=1 << 30, in_flight=self.in_flight, reward=self.reward,
        )  # fmt: skip
        return [trajectory for trajectory in made if trajectory is not None]
