"""Episodes from a rollout policy, with a run's settings applied."""

from collections.abc import Callable
from typing import Any

from healthgym.retrieval import SearchService, open_retriever
from healthgym.rewards import RewardConfig
from healthgym.rollout import Policy
from healthgym.rollout.source import PolicySource, episode_maker
from healthgym.rollout.template import ChatTemplate
from healthgym.tasks import Suite
from healthgym.training.config import RunConfig
from healthgym.training.models import context_limit
from healthgym.training.source import SourceFactory
from healthgym.world import Services

MakePolicy = Callable[[RunConfig, Any, Any], Policy]
"""Builds the engine that samples from (config, model, tokenizer)."""


def transformers_policy(config: RunConfig, model: Any, tokenizer: Any) -> Policy:
    """Return the engine that samples from the very model that is trained."""
    from healthgym.rollout.transformers_engine import Sampling, TransformersPolicy

    sampling = Sampling(temperature=config.rollout.temperature)
    return TransformersPolicy(model, tokenizer, sampling=sampling, max_rows=config.rollout.in_flight)


def engine_policy(config: RunConfig, model: Any, tokenizer: Any) -> Policy:
    """Return the engine that `rollout.engine` names."""
    if config.rollout.engine == "vllm":
        from healthgym.training.vllm_policy import vllm_policy

        return vllm_policy(config, model, tokenizer, max_context=max_context(config, model))
    return transformers_policy(config, model, tokenizer)


def source_from(make_policy: MakePolicy = engine_policy, *, services: Services | None = None) -> SourceFactory:
    """Return a factory of sources around an engine.

    Args:
        make_policy: Builds the engine.
        services: What episodes share; None opens the index that `env.index` names, if it names one.
    """

    def make(config: RunConfig, model: Any, tokenizer: Any, suite: Suite) -> PolicySource:
        rollout = config.rollout
        shared = services if services is not None else run_services(config)
        return PolicySource(
            make_policy(config, model, tokenizer),
            episode_maker(suite, services=shared, profile=config.env.prompt_profile, max_turns=config.env.max_turns),
            ChatTemplate(tokenizer),
            max_tokens_per_turn=rollout.max_tokens_per_turn,
            max_completion_tokens=rollout.max_completion_tokens,
            max_context=max_context(config, model),
            in_flight=rollout.in_flight,
            reward=reward_config(config),
        )

    return make


def run_services(config: RunConfig) -> Services | None:
    """Return what a run's episodes share: the index that `env.index` names, opened; None when it names none."""
    if config.env.index is None:
        return None
    retriever = open_retriever(config.env.index, config.env.encoder, exclude=config.env.exclude or ())
    return Services(retriever=SearchService(retriever))


def max_context(config: RunConfig, model: Any) -> int | None:
    """Return the most tokens of prompt and completion together: the lower of the run's limit and the model's."""
    return min((n for n in (config.rollout.max_context, context_limit(model)) if n is not None), default=None)


def reward_config(config: RunConfig) -> RewardConfig:
    """Return the composition of the run's reward."""
    weights = config.reward.weights
    if weights is None:
        return RewardConfig(preset=config.reward.preset)
    return RewardConfig(preset=config.reward.preset, weights=weights)
