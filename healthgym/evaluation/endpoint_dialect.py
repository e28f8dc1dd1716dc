"""Finds out what an OpenAI-compatible server takes, by asking it small things before the first row."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from healthgym.errors import ConfigError
from healthgym.rollout.endpoint import Endpoint, EndpointRefused
from healthgym.rollout.openai_messages import ChatReply, Dialect, ToolMode, read_reply

logger = logging.getLogger(__name__)

_ASK = [{"role": "user", "content": "Say yes."}]
_TOOL = {
    "type": "function",
    "function": {
        "name": "healthgym_probe",
        "description": "Does nothing; it is here to see whether tools are shown to the model.",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    },
}
_TOKENS = 16
"""Most tokens of a probe's answer; some servers refuse fewer."""
_FEWER_TOOLS: dict[ToolMode, ToolMode] = {"native": "markup", "markup": "plain"}
VLLM_EXTRA: Mapping[str, Any] = {"top_k": 0, "repetition_penalty": 1.0}
"""Fields that keep vLLM from taking its sampling from the model's own generation_config.json."""


def find_dialect(
    endpoint: Endpoint,
    model: str,
    *,
    temperature: float,
    top_p: float,
    tools: ToolMode | None,
    extra: Mapping[str, Any],
) -> tuple[Dialect, ChatReply]:
    """Return what the server takes, and its last answer to a probe.

    Args:
        endpoint: The server.
        model: Name of the model there.
        temperature: Of sampling.
        top_p: Of sampling.
        tools: How tools are shown; None finds it out.
        extra: Further fields of every request.

    Raises:
        ConfigError: The server refuses what cannot be left out; repeats its words.
        EndpointFailed: It gives no usable answer.
    """
    dialect = Dialect(tools=tools or "native", extra=dict(extra))
    while True:
        shown = dialect.tools in ("native", "markup")
        try:
            reply = _probe(endpoint, model, dialect, temperature, top_p, with_tool=shown)
            break
        except EndpointRefused as error:
            dialect = _without(dialect, error, is_free=tools is None)
    if tools is None and shown:
        bare = _probe(endpoint, model, dialect, temperature, top_p, with_tool=False)
        if reply.prompt_tokens is not None and reply.prompt_tokens == bare.prompt_tokens:
            logger.info("%s: the model's chat template shows no tools; the system message tells of them", endpoint.url)
            dialect = replace(dialect, tools="told")
    if not dialect.takes_seed and temperature > 0:
        logger.warning("%s takes no seed: the same run gives other rows each time", endpoint.url)
    return dialect, reply


def _probe(
    endpoint: Endpoint, model: str, dialect: Dialect, temperature: float, top_p: float, *, with_tool: bool
) -> ChatReply:
    body: dict[str, Any] = {
        "model": model, "messages": _ASK, "temperature": temperature, "top_p": top_p, dialect.limit: _TOKENS,
        **dialect.extra,
    }  # fmt: skip
    if dialect.takes_seed:
        body["seed"] = 0
    if with_tool:
        body |= {"tools": [_TOOL], "tool_choice": "auto" if dialect.tools == "native" else "none"}
    return read_reply(endpoint.ask("POST", "/chat/completions", body))


def _without(dialect: Dialect, error: EndpointRefused, *, is_free: bool) -> Dialect:
    """Return a dialect without what the server refused. Raises ConfigError when it cannot go without."""
    said = error.said.lower()
    if error.status in (400, 422):
        if "max_completion_tokens" in said and dialect.limit == "max_tokens":
            return replace(dialect, limit="max_completion_tokens")
        if "seed" in said and dialect.takes_seed:
            return replace(dialect, takes_seed=False)
        if "temperature" in said or "top_p" in said:
            raise ConfigError(
                f"The endpoint refuses the sampling that was asked for: {error.said} Give the temperature it takes (often 1)."
            ) from error
    if is_free and dialect.tools in _FEWER_TOOLS and error.status in (400, 422, 500, 501) and "tool" in said:
        return replace(dialect, tools=_FEWER_TOOLS[dialect.tools])
    raise ConfigError(f"The endpoint cannot be used: {error}") from error
