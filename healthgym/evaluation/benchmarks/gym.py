"""The gym's own frozen tasks: an episode each, success from the state the chart was left in."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

from healthgym.envs.episode import Episode
from healthgym.envs.prompts import tool_schemas
from healthgym.errors import ConfigError, GraderError, NotRegistered, nearest
from healthgym.evaluation.about import About
from healthgym.evaluation.benchmark import Benchmark, Floor, Keep, Mode, Settings, Source
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.episodes import counted, has_degenerated, play_attempts, replay, status_of
from healthgym.evaluation.gym_suite import task_digest
from healthgym.evaluation.items import Attempt, Item
from healthgym.evaluation.rows import Row
from healthgym.registry import Domain, domain_names
from healthgym.rewards import Grade, RewardConfig, compose
from healthgym.rollout.source import episode_maker
from healthgym.rollout.trajectory import Trajectory
from healthgym.tasks import SPLITS, Suite, load_suite
from healthgym.tasks.task import DIFFICULTIES
from healthgym.world import Services

OPTIONS = ("domains", "families", "difficulty", "per_family", "reward")
REWARD = tuple(field.name for field in fields(RewardConfig))
CODE = (".py", ".yaml", ".md", ".json")
"""Files of a domain's folder that its tools, guideline and hazards may rest on."""


class Gym:
    """Frozen tasks of some domains, one split of them.

    Args:
        suite: Holds the tasks.
        split: train, val, test or test_ood.
        families: Only these families; empty takes all.
        difficulty: Only this difficulty; None takes all.
        reward: How a grade becomes the reward, which is a score beside success.
    """

    name = "gym"
    title = "Frozen tasks of the gym"
    modes: tuple[Mode, ...] = ("agentic",)
    scorer = "gym-success-2"

    def __init__(
        self,
        suite: Suite,
        *,
        split: str = "test",
        families: Sequence[str] = (),
        difficulty: str | None = None,
        reward: RewardConfig | None = None,
    ) -> None:
        self.suite, self.split, self.families, self.difficulty = suite, split, tuple(families), difficulty
        self.reward = reward or RewardConfig()

    @cached_property
    def hashes(self) -> dict[str, str]:
        """Digests of the domains' tools and guidelines, and of the frozen suite's name."""
        total = sha256()
        for domain in self.suite.domains.values():
            total.update(_domain_digest(domain))
        return {"tools": total.hexdigest(), "suite": self.suite.version}

    def items(self) -> Sequence[Item]:
        """Return one item a task, in the suite's order.

        Raises:
            ConfigError: No task is left.
        """
        ids = self.suite.ids(split=self.split, families=self.families)
        tasks = [self.suite.task(task_id) for task_id in ids]
        tasks = [task for task in tasks if self.difficulty in (None, task.difficulty)]
        if not tasks:
            raise ConfigError(
                f"gym: no tasks in split {self.split} of {', '.join(self.suite.domains)} with families "
                f"{list(self.families) or 'all'} and difficulty {self.difficulty or 'any'}"
            )
        return [
            Item(
                id=task.id,
                content={"task": task_digest(self.suite, [task.id])},
                cluster=task.id,
                strata={
                    "domain": task.domain, "family": task.family, "difficulty": task.difficulty, "split": task.split,
                },
            )
            for task in tasks
        ]  # fmt: skip

    def floors(self, items: Sequence[Item]) -> Sequence[Floor]:
        """Return that of silence: an episode without a submission never succeeds."""
        return (Floor(name="silent", score=0.0, how="says nothing and calls no tool"),)

    def measure(
        self,
        attempts: Sequence[Attempt],
        candidate: Candidate,
        settings: Settings,
        services: Services | None,
        keep: Keep,
    ) -> None:
        """Play every attempt."""
        make = episode_maker(
            self.suite, services=services, profile=settings.profile, max_turns=settings.max_turns,
            images=candidate.has_vision,
        )  # fmt: skip
        play_attempts(attempts, candidate, settings, make, _judge, keep, reward=self.reward)

    def rescore(self, row: Row, item: Item) -> Row:
        """Return the row as it is: an episode is scored again from its trace, see `rescore_episode`."""
        return row

    def rescore_episode(self, row: Row, item: Item, trajectory: Trajectory, services: Services | None) -> Row:
        """Play the stored assistant messages once more and grade what they lead to now.

        Tools that search need the index of the first run again.
        """
        case = self.suite.case(item.id)
        episode = Episode(
            case, self.suite.domains[case.task.domain], services=services, profile="bare", seed=trajectory.seed
        )
        replay(episode, trajectory)
        try:
            grade = episode.grade()
        except GraderError as error:
            return replace(row, status="grader_error", score=None, scores={}, prediction=None, error=str(error))
        again = replace(
            trajectory, grade=grade, reward=compose(grade, self.reward), stop_reason=episode.stop_reason or ""
        )
        made = _judge(Attempt(item, row.attempt, row.seed), again)
        return replace(made, tokens=row.tokens, turns=row.turns, tool_calls=row.tool_calls, output=row.output)


def _judge(attempt: Attempt, trajectory: Trajectory) -> Row:
    """Return the row of a finished episode."""
    grade, status = trajectory.grade, status_of(trajectory)
    # An agent that talks instead of acting has ended the episode itself, and not solved the task.
    status = "answered" if status == "unparsed" else status
    return Row(
        id=attempt.item.id,
        attempt=attempt.number,
        status=status,
        score=float(grade.success) if status == "answered" else None,
        scores={**grade.scores, "reward": trajectory.reward},
        cluster=attempt.item.cluster,
        strata=attempt.item.strata,
        prediction=grade.outcome,
        gold="correct",
        seed=attempt.seed,
        detail=_detail(trajectory, grade),
        **counted(trajectory),
    )


def _detail(trajectory: Trajectory, grade: Grade) -> dict[str, Any]:
    return {
        "stop_reason": trajectory.stop_reason,
        "success": grade.success,
        "degenerate": has_degenerated(trajectory),
        "clipped": trajectory.clipped,
        "tool_failures": trajectory.tool_failures,
        "idle_turns": trajectory.idle_turns,
        "minutes": trajectory.minutes,
        "evidence_share": grade.evidence_share,
        "missing_evidence": list(grade.missing_evidence),
        "hazards": [hit.label for hit in grade.hazards],
    }


def _domain_digest(domain: Domain) -> bytes:
    """Return a digest over what tools an agent is shown and the files that make them work."""
    total = sha256(repr(tool_schemas(list(domain.tools.values()), "full")).encode())
    for file in sorted(path for path in domain.folder.iterdir() if path.suffix in CODE and path.name != "README.md"):
        total.update(file.name.encode() + file.read_bytes())
    return total.digest()


def make_gym(source: Source) -> Benchmark:
    """Return the benchmark on the domains, families and difficulty that the options name.

    Raises:
        ConfigError: An option or split is unknown, or domains are named twice.
        NotRegistered: A domain or family is unknown; names the nearest.
    """
    options = source.options
    for name in options:
        if name not in OPTIONS:
            raise ConfigError(f"gym has no option {name!r}.{nearest(name, OPTIONS)}")
    split = source.split or "test"
    if split not in SPLITS:
        raise ConfigError(f"gym has no split {split!r}.{nearest(split, SPLITS)}")
    difficulty = options.get("difficulty")
    if difficulty not in (None, *DIFFICULTIES):
        raise ConfigError(f"gym has no difficulty {difficulty!r}.{nearest(str(difficulty), DIFFICULTIES)}")
    if source.path is not None and "domains" in options:
        raise ConfigError("gym: a folder (--data) and --set domains=... both name domains; give one of them")
    domains = names(options.get("domains")) or ([str(source.path)] if source.path else domain_names())
    suite = load_suite(*domains, per_family=_mapping(options, "per_family", "{test: 20}"))
    families = names(options.get("families"))
    known = {family for domain in suite.domains.values() for family in domain.families}
    for family in families:
        if family not in known:
            raise NotRegistered.named("family", family, known)
    reward = _mapping(options, "reward", "{preset: paper}") or {}
    for name in reward:
        if name not in REWARD:
            raise ConfigError(f"gym: reward has no setting {name!r}.{nearest(name, REWARD)}")
    return Gym(suite, split=split, families=families, difficulty=difficulty, reward=RewardConfig(**reward))


def _mapping(options: Mapping[str, Any], name: str, example: str) -> Mapping[str, Any] | None:
    """Return an option that maps names to values. Raises ConfigError for anything else."""
    value = options.get(name)
    if value is not None and not (isinstance(value, Mapping) and all(isinstance(key, str) for key in value)):
        raise ConfigError(f"gym: {name} must map names to values, such as '{name}={example}', got {value!r}")
    return value


def names(value: Any) -> list[str]:
    """Return the names in a list or in a text with commas."""
    if value is None:
        return []
    return [str(one).strip() for one in (value.split(",") if isinstance(value, str) else value)]


ABOUT_OPTIONS: Mapping[str, str] = {
    "domains": "names or folders with commas; all when left out",
    "families": "families of tasks, with commas",
    "difficulty": "easy, medium or hard",
    "per_family": "{SPLIT: N}, N tasks a family in place of the frozen counts",
    "reward": "{preset: paper} and the like, of the score reward",
}
BENCHMARKS = {Gym.name: make_gym}
ABOUT = {
    Gym.name: About(
        title="frozen tasks of the domains", group="Gym", modes=Gym.modes, data="included",
        get="Nothing to get. --data takes the folder of a domain of your own.", splits=("test", "train", "val", "test_ood"),
        options=ABOUT_OPTIONS, page="docs/evaluation.md",
    )
}  # fmt: skip
