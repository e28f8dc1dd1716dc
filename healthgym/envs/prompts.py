"""What the agent reads first: the system message and the task, in a long, a compact or a bare form."""

from collections.abc import Sequence
from typing import Any, Literal

from healthgym.errors import ConfigError, nearest
from healthgym.registry import Domain
from healthgym.tasks import Task
from healthgym.toolkit import ToolSpec

PromptProfile = Literal["full", "compact", "bare"]
PROFILES: tuple[PromptProfile, ...] = ("full", "compact", "bare")


def check_profile(profile: str) -> PromptProfile:
    """Return a known profile. Raises ConfigError, offering the nearest, otherwise."""
    for known in PROFILES:
        if profile == known:
            return known
    raise ConfigError(f"No prompt profile {profile!r}.{nearest(profile, PROFILES)}")


def opening_messages(domain: Domain, task: Task, profile: PromptProfile) -> list[dict[str, Any]]:
    """Return the messages before the first assistant turn.

    full: guideline and task. compact: one sentence of instruction and task. bare: the task alone, for small models
    that learnt the domain's tools in a warm start.
    """
    submit = domain.submit_tool.name
    if profile == "bare":
        return [{"role": "user", "content": task.prompt}]
    rules = f"Use the tools. End with {submit}."
    if profile == "full":
        rules = (
            f"You are the responsible clinician in {domain.title}. Act only through the tools; several calls in one turn "
            f"are allowed. What you have not looked up, asked, examined or ordered you do not know. "
            f"The episode ends when you call {submit}.\n\n{domain.guideline}"
        )
    return [{"role": "system", "content": rules}, {"role": "user", "content": task.prompt}]


def tool_schemas(specs: Sequence[ToolSpec], profile: PromptProfile) -> list[dict[str, Any]]:
    """Return the JSON schemas shown to the agent; none in the bare profile."""
    return [] if profile == "bare" else [spec.schema_for(profile) for spec in specs]
