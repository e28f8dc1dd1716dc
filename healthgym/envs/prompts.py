"""What the agent reads first: the system message and the task, in a long, a compact or a bare form."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from healthgym.errors import ConfigError, nearest
from healthgym.registry import Domain
from healthgym.tasks import Task
from healthgym.toolkit import Picture, ToolSpec

PromptProfile = Literal["full", "compact", "bare"]
PROFILES: tuple[PromptProfile, ...] = ("full", "compact", "bare")


def check_profile(profile: str) -> PromptProfile:
    """Return a known profile. Raises ConfigError, offering the nearest, otherwise."""
    for known in PROFILES:
        if profile == known:
            return known
    raise ConfigError(f"No prompt profile {profile!r}.{nearest(profile, PROFILES)}")


def with_pictures(text: str, pictures: Sequence[Picture], *, images: bool) -> str | list[dict[str, Any]]:
    """Return the content of a message: text, or for a vision model blocks, each picture before the text.

    `text` holds the captions already.
    """
    if not images or not pictures:
        return text
    return [*(picture.block for picture in pictures), {"type": "text", "text": text}]


def text_of(content: str | Sequence[Mapping[str, Any]]) -> str:
    """Return the text of a message's content, without its images."""
    if isinstance(content, str):
        return content
    return "\n".join(str(block["text"]) for block in content if block.get("type") == "text")


def opening_messages(
    domain: Domain, task: Task, profile: PromptProfile, pictures: Sequence[Picture] = (), *, images: bool = False
) -> list[dict[str, Any]]:
    """Return the messages before the first assistant turn, with the task's pictures in the last of them.

    full: guideline and task. compact: one sentence of instruction and task. bare: the task alone, for small models
    that learnt the domain's tools in a warm start.
    """
    submit = domain.submit_tool.name
    prompt = "\n".join([task.prompt, *(picture.text for picture in pictures)])
    user = {"role": "user", "content": with_pictures(prompt, pictures, images=images)}
    if profile == "bare":
        return [user]
    rules = f"Use the tools. End with {submit}."
    if profile == "full":
        rules = (
            f"You are the responsible clinician in {domain.title}. Act only through the tools; several calls in one turn "
            f"are allowed. What you have not looked up, asked, examined or ordered you do not know. "
            f"The episode ends when you call {submit}.\n\n{domain.guideline}"
        )
    return [{"role": "system", "content": rules}, user]


def tool_schemas(specs: Sequence[ToolSpec], profile: PromptProfile) -> list[dict[str, Any]]:
    """Return the JSON schemas shown to the agent; none in the bare profile."""
    return [] if profile == "bare" else [spec.schema_for(profile) for spec in specs]
