"""Environments: `ClinicalEnv` for one domain, registered with Gymnasium as `healthgym/<Domain>-v0`."""

import gymnasium

from healthgym.envs.clinical import ClinicalEnv
from healthgym.envs.episode import Episode
from healthgym.envs.parsing import Action, ToolCall, parse_action
from healthgym.registry import domain_names

__all__ = ["Action", "ClinicalEnv", "Episode", "ToolCall", "env_id", "parse_action", "register_envs"]


def env_id(domain: str) -> str:
    """Return the Gymnasium id of a domain: "triage_emergency" is "healthgym/TriageEmergency-v0"."""
    return f"healthgym/{''.join(part.capitalize() for part in domain.split('_'))}-v0"


def register_envs() -> None:
    """Register every domain with Gymnasium; doing it twice changes nothing."""
    for name in domain_names():
        if env_id(name) not in gymnasium.registry:
            gymnasium.register(
                id=env_id(name), entry_point="healthgym.envs.clinical:ClinicalEnv", kwargs={"domain": name}
            )


register_envs()
