"""How a training run asked its model: what its checkpoints are evaluated with unless something else is said."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from healthgym.training.policy_source import reward_config

if TYPE_CHECKING:
    from healthgym.training.config import RunConfig


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Taken from a run's config.

    settings: fields of `Settings`.
    sampling: temperature, and max_context where the run lowers it.
    gym: options of the benchmark `gym`: domains, families and how a grade becomes the reward.
    index: folder of the index that its episodes search, or None for the built-in passages.
    exclude: passages left out of it.
    encoder: of the index, where the run names one.
    """

    settings: Mapping[str, Any]
    sampling: Mapping[str, Any]
    gym: Mapping[str, Any]
    index: str | None
    exclude: Any
    encoder: str | None


def run_settings(config: "RunConfig") -> RunSettings:
    """Return how a run asked its model."""
    rollout, env = config.rollout, config.env
    reward = reward_config(config)
    gym: dict[str, Any] = {
        "domains": list(env.domains),
        "reward": {"preset": reward.preset, "weights": dict(reward.weights)},
    }
    if env.families:
        gym["families"] = list(env.families)
    if env.per_family:
        gym["per_family"] = dict(env.per_family)
    return RunSettings(
        settings={
            "max_tokens": rollout.max_tokens_per_turn,
            "max_completion_tokens": rollout.max_completion_tokens,
            "max_turns": env.max_turns,
            "profile": env.prompt_profile,
            "in_flight": rollout.in_flight,
        },
        sampling={"temperature": rollout.temperature, "max_context": rollout.max_context},
        gym=gym,
        index=None if env.index is None else str(env.index),
        exclude=env.exclude or (),
        encoder=env.encoder,
    )
