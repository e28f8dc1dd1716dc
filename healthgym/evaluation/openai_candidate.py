"""Candidates behind OpenAI-compatible endpoints: looked at before the first row, and again after the last."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag

from healthgym.errors import ConfigError, HealthgymError
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.endpoint_dialect import VLLM_EXTRA, find_dialect
from healthgym.evaluation.endpoint_model import FIRST_LOOK, Served, api_root, look, pushed_weights, server_root
from healthgym.evaluation.endpoint_scoring import PROBE_IDS, EndpointScores, Token, scoring_form
from healthgym.rollout.endpoint import Endpoint, EndpointFailed, EndpointRefused, Patience
from healthgym.rollout.openai_messages import ChatReply, ToolMode
from healthgym.rollout.openai_policy import OpenAIPolicy

if TYPE_CHECKING:
    from healthgym.rollout.policy import Policy
    from healthgym.rollout.template import ChatTemplate

logger = logging.getLogger(__name__)

PROBE_TOLERANCE = 0.3
"""Largest mean change, in nats a token, of the same tokens' log-probabilities under the same 16-bit weights."""
_UNCHANGING = ("id", "root", "max_model_len", "weights")


def open_endpoint(
    url: str,
    *,
    model: str | None = None,
    endpoint: str | None = None,
    temperature: float = 0.0,
    top_p: float = 1.0,
    api_key_env: str | None = None,
    timeout_s: float = 300.0,
    patience: Patience | None = None,
    tools: ToolMode | None = None,
    tokenizer: str | Path | None = None,
    has_vision: bool = False,
    max_context: int | None = None,
    extra: Mapping[str, Any] | None = None,
) -> Candidate:
    """Return the model behind an endpoint, ready to be measured.

    Args:
        url: Such as http://127.0.0.1:8000/v1; `/v1` may be left out, and `#NAME` at its end names the model.
        model: Name of the model there; not needed where the server lists exactly one.
        endpoint: The address; `url` is then the name of the model.
        temperature: Of sampling; 0 asks for the likeliest tokens.
        top_p: Share of the likeliest tokens to sample from.
        api_key_env: Environment variable that holds the key; the key itself is written nowhere.
        timeout_s: Longest one attempt at a request may take.
        patience: Everything about waiting; replaces `timeout_s`.
        tools: How tools are shown; None finds it out.
        tokenizer: Folder or name of the model's tokenizer. With a vLLM server, turns then go out and come back as
            tokens, as from an engine in this process, and options can be scored. None works on messages.
        has_vision: Whether messages may hold images.
        max_context: Lowers the positions that the server names.
        extra: Further fields of every request.

    Raises:
        ConfigError: The address, key or settings cannot be used, or the server serves another model.
        EndpointFailed: It cannot be reached.
    """
    if endpoint is not None:
        if model is not None and model != url:
            raise ConfigError(f"Two models were named, {url!r} and model={model!r}; give the one that is served")
        url, model = endpoint, url
    if tokenizer is not None and (tools is not None or extra or has_vision):
        raise ConfigError(
            "With a tokenizer turns go out as tokens, to which tools, extra and images add nothing; leave them out, or the "
            "tokenizer"
        )
    url, fragment = urldefrag(url)
    if fragment and model and fragment != model:
        raise ConfigError(f"The endpoint's address names the model {fragment!r}, but {model!r} was asked for; give one")
    patience = patience or Patience(timeout_s=timeout_s, total_s=3 * timeout_s)
    server = Endpoint(api_root(url), api_key_env=api_key_env, patience=patience)
    try:
        served = look(server, model or fragment or None)
        own = VLLM_EXTRA if served.owned_by == "vllm" else {}
        dialect, reply = find_dialect(
            server, served.id, temperature=temperature, top_p=top_p, tools=tools, extra={**own, **(extra or {})}
        )
        chat = OpenAIPolicy(server, served.id, temperature=temperature, top_p=top_p, dialect=dialect)
        chat.answering = reply.model
        chat.fingerprints.update([reply.fingerprint] if reply.fingerprint else [])
        watch = _Watch(server, served, chat)
        policy: Policy = chat
        template, close = None, server.close
        if tokenizer is not None:
            if watch.scores is None:
                raise ConfigError(
                    f"{url} takes no token ids ({watch.without}), so a tokenizer is of no use there. Leave it out: the endpoint "
                    "then works on messages."
                )
            policy, template, close = _on_tokens(server, served, Path(tokenizer), temperature, top_p, patience)
    except BaseException:
        server.close()
        raise
    if template is None:
        why = (
            "give its tokenizer to have them scored" if watch.scores else f"it scores no given tokens ({watch.without})"
        )
        logger.info("%s: options of multiple choice are read from generated letters; %s", url, why)
    return Candidate(
        name=served.id,
        engine=" ".join(filter(None, ("openai", served.owned_by, served.version))),
        policy=policy,
        template=template,
        loglikelihoods=watch.scores if template is not None else None,
        hashes=_hashes(server, served, reply, template),
        sampling={
            "temperature": temperature, "top_p": top_p, "tools": "tokens" if template is not None else dialect.tools,
            "takes_seed": int(dialect.takes_seed), **{name: _plain(value) for name, value in dialect.extra.items()},
        },
        max_context=min((one for one in (served.max_model_len, max_context) if one is not None), default=None),
        has_vision=has_vision,
        close=close,
        verify=watch.verify,
    )  # fmt: skip


def _hashes(server: Endpoint, served: Served, reply: ChatReply, template: "ChatTemplate | None") -> dict[str, str]:
    """Return what tells this candidate from others, where weights cannot be read."""
    said = {"root": served.root, "weights": served.weights, "answering": reply.model or ""}
    if template is not None:
        said["chat_template"] = sha256(str(template.tokenizer.chat_template).encode()).hexdigest()
    return {"endpoint": server.url, "model": served.id, **{name: value for name, value in said.items() if value}}


class _Watch:
    """Looks at a server before the first row and after the last."""

    def __init__(self, endpoint: Endpoint, served: Served, policy: OpenAIPolicy) -> None:
        self.endpoint, self.served, self.policy = endpoint, served, policy
        form, self.without = scoring_form(endpoint, served.id)
        self.scores = None if form is None else EndpointScores(endpoint, served.id, form)
        self._probe = self._tokens()

    def verify(self) -> dict[str, str]:
        """Return the fingerprints that were seen. Raises HealthgymError when another model is served than at first."""
        now = look(self.endpoint, self.served.id)
        for name in _UNCHANGING:
            before, after = getattr(self.served, name), getattr(now, name)
            if before != after:
                raise HealthgymError(
                    f"{self.endpoint.url} served {self.served.id} with {name} {before!r} when this run began, and now with "
                    f"{after!r}: its rows may be of two models. Begin a new run."
                )
        tokens = self._tokens()
        gap = sum(abs(a - b) for (a, _), (b, _) in zip(self._probe, tokens, strict=True)) / max(1, len(tokens))
        if gap > PROBE_TOLERANCE:
            raise HealthgymError(
                f"{self.endpoint.url} gives the same {len(PROBE_IDS)} tokens other log-probabilities than when this run began, "
                f"by {gap:.2f} nats a token: it computes with other weights. Begin a new run."
            )
        return {"system_fingerprints": ", ".join(sorted(self.policy.fingerprints)), "version": now.version}

    def _tokens(self) -> list[Token]:
        return self.scores.tokens(PROBE_IDS) if self.scores is not None else []


def _on_tokens(
    endpoint: Endpoint, served: Served, tokenizer: Path, temperature: float, top_p: float, patience: Patience
) -> "tuple[Policy, ChatTemplate, Callable[[], None]]":
    """Return a policy that sends and receives tokens, its template, and what ends both."""
    from transformers import AutoTokenizer

    from healthgym.evaluation.served import ServedAsIs
    from healthgym.rollout.sampling import Sampling
    from healthgym.rollout.template import ChatTemplate
    from healthgym.rollout.vllm_client import ServerEngine
    from healthgym.rollout.vllm_engine import VLLMPolicy

    try:
        words = AutoTokenizer.from_pretrained(str(tokenizer))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{tokenizer} holds no tokenizer: {str(error).splitlines()[0]}") from error
    _same_tokenizer(endpoint, served, words)
    template = ChatTemplate(words)
    engine = ServerEngine(
        [server_root(endpoint)], timeout_s=patience.timeout_s, model=served.id, headers=endpoint.authorization
    )
    policy = VLLMPolicy(
        engine,
        ServedAsIs(lambda: pushed_weights(endpoint)),
        words,
        end_ids=sorted({template.turn_end_id, words.eos_token_id} - {None}),
        sampling=Sampling(temperature=temperature, top_p=top_p),
    )

    def close() -> None:
        policy.close()
        endpoint.close()

    return policy, template, close


def _same_tokenizer(endpoint: Endpoint, served: Served, words: Any) -> None:
    """Refuse a tokenizer that is not the server's, where the server can be asked."""
    text = "Temp 38.5 °C, SpO2 91 %, β-blocker 25 mg."
    body = {"model": served.id, "prompt": text, "add_special_tokens": False}
    try:
        answer = endpoint.ask(
            "POST", f"{server_root(endpoint)}/tokenize", body, patience=replace(FIRST_LOOK, retries=0)
        )
    except (EndpointRefused, EndpointFailed) as error:
        logger.warning("%s: whether the tokenizer is the server's could not be checked (%s)", endpoint.url, error)
        return
    theirs, ours = answer.get("tokens"), words.encode(text, add_special_tokens=False)
    if theirs != ours:
        raise ConfigError(
            f"The tokenizer given for {served.id} is not the server's: it reads {text!r} as {ours}, the server as {theirs}. "
            "Give the folder the server loaded the model from."
        )


def _plain(value: Any) -> float | int | str | None:
    return value if isinstance(value, float | int | str) or value is None else repr(value)
