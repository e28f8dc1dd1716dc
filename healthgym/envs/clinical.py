"""ClinicalEnv: the environment that Gymnasium users, training, evaluation and a service share."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import gymnasium
from gymnasium import spaces

from healthgym.envs.episode import Episode
from healthgym.envs.prompts import PromptProfile, check_profile, text_of
from healthgym.envs.space import MessageSpace
from healthgym.errors import ConfigError, NotRegistered, ResetNeeded
from healthgym.registry import load_domain
from healthgym.rewards import Grade, RewardConfig, compose
from healthgym.tasks import SPLITS, Suite, load_suite
from healthgym.world import Services


class ClinicalEnv(gymnasium.Env[str, str]):
    """Episodes of one domain. An action is an assistant message; an observation is the text that answers it.

    Args:
        domain: Registered name, or a folder.
        split: Which split reset() draws from.
        families: Draw only from these task families; empty means all.
        profile: How much the prompt says: "full", "compact" or "bare".
        reward: Preset name or RewardConfig.
        max_turns: Lowers the tasks' own limit.
        services: What episodes share: retriever, patient.
        images: Whether messages hold images for a vision model; observations that show one are lists of blocks then.
    """

    metadata = {"render_modes": ["ansi"]}

    def __init__(
        self,
        domain: str,
        *,
        split: str = "train",
        families: Sequence[str] = (),
        profile: PromptProfile = "full",
        reward: str | RewardConfig = "gated",
        max_turns: int | None = None,
        services: Services | None = None,
        render_mode: str | None = None,
        images: bool = False,
    ) -> None:
        self.domain = load_domain(domain)
        self.suite: Suite = load_suite(domain)
        if split not in SPLITS:
            raise NotRegistered.named("split", split, SPLITS)
        for family in families:
            if family not in self.domain.families:
                raise NotRegistered.named("task family", family, self.domain.families)
        self.split, self.families, self.profile = split, tuple(families), check_profile(profile)
        self.reward_config = reward if isinstance(reward, RewardConfig) else RewardConfig(preset=reward)  # type: ignore[arg-type]
        self.max_turns, self.services, self.render_mode, self.images = max_turns, services, render_mode, images
        self.action_space: spaces.Space[Any] = MessageSpace()
        self.observation_space: spaces.Space[Any] = MessageSpace()
        self.episode: Episode | None = None
        self._ids = self.suite.ids(self.domain.name, split, self.families)
        if not self._ids:
            raise ConfigError(
                f"{self.domain.name} has no tasks in split {split!r} for families {list(families) or 'all'}"
            )

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:  # type: ignore[override]
        """Start an episode: of `options["task_id"]`, or of a task drawn from the split by the seed."""
        super().reset(seed=seed)
        options = options or {}
        unknown = set(options) - {"task_id", "seed"}
        if unknown:
            raise ConfigError(f"reset() got unknown options {sorted(unknown)}; known: task_id, seed")
        task_id = options.get("task_id") or self._ids[int(self.np_random.integers(len(self._ids)))]
        world_seed = int(options.get("seed", 0))
        self.episode = Episode(
            self.suite.case(task_id),
            self.domain,
            services=self.services,
            profile=self.profile,
            max_turns=self.max_turns,
            seed=world_seed,
            images=self.images,
        )
        return self.episode.messages[-1]["content"], self._info(self.episode, None)

    def step(self, action: str | Mapping[str, Any]) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Apply one assistant message and return what the agent sees next."""
        episode = self.episode
        if episode is None:
            raise ResetNeeded("step() before reset(): call env.reset(seed=...) to start an episode")
        if episode.is_over:
            raise ResetNeeded(f"the episode ended ({episode.stop_reason}): call env.reset() to start another")
        answers = episode.apply(action)
        grade = episode.grade() if episode.is_over else None
        reward = compose(grade, self.reward_config) if grade is not None else 0.0
        terminated = episode.stop_reason in ("submitted", "parse_failure")
        truncated = episode.is_over and not terminated
        return _joined(answers), reward, terminated, truncated, self._info(episode, grade)

    def fork(self) -> "ClinicalEnv":
        """Return an independent environment whose episode stands at this step and whose draws go on from here."""
        if self.episode is None:
            raise ResetNeeded("fork() before reset(): there is no episode to branch")
        copy = ClinicalEnv.__new__(ClinicalEnv)
        copy.__dict__.update(self.__dict__)
        copy.np_random = deepcopy(self.np_random)
        copy.action_space, copy.observation_space = deepcopy(self.action_space), deepcopy(self.observation_space)
        copy.episode = self.episode.fork()
        return copy

    def render(self) -> str | None:  # type: ignore[override]
        """Return the conversation so far as text."""
        if self.episode is None:
            return None
        return "\n".join(f"[{m['role']}] {m.get('raw') or text_of(m['content'])}" for m in self.episode.messages)

    def _info(self, episode: Episode, grade: Grade | None) -> dict[str, Any]:
        info: dict[str, Any] = {
            "task_id": episode.task.id,
            "messages": episode.messages,
            "tools": episode.tools,
            "permitted": [] if episode.is_over else list(episode.permitted),
            "turns": episode.turns,
            "turns_left": episode.max_turns - episode.turns,
            "minutes": episode.world.minutes,
            "cost": episode.world.cost,
            "stop_reason": episode.stop_reason,
            "state_hash": episode.world.state.hash(),
            "scores": dict(grade.scores) if grade else {},
        }
        if grade is not None:
            info["grade"] = grade
            info["success"] = grade.success
        return info


def _joined(answers: Sequence[Mapping[str, Any]]) -> Any:
    """Return what the agent sees next: text, or content blocks when a message shows an image."""
    if all(isinstance(message["content"], str) for message in answers):
        return "\n".join(message["content"] for message in answers)
    blocks: list[Any] = []
    for message in answers:
        content = message["content"]
        blocks += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return blocks
