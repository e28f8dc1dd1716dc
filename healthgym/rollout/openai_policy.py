"""Writes assistant turns with a model behind an OpenAI-compatible endpoint, which takes messages and gives messages."""

import logging
import queue
import re
from collections import Counter
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any

from healthgym.errors import HealthgymError
from healthgym.rollout.endpoint import Endpoint, EndpointFailed, EndpointRefused
from healthgym.rollout.openai_messages import ChatReply, Dialect, read_reply, wire_messages
from healthgym.rollout.policy import TurnRequest, TurnResult

logger = logging.getLogger(__name__)

POLL_S = 0.5
"""Longest a poll waits for a reply."""
MAX_SEED = 0x7FFFFFFF
"""Servers hold seeds in integers of various sizes; all hold these."""
_TOO_LONG = re.compile(
    r"context.{0,20}(length|size|window)|maximum.{0,20}(length|context)|too (long|many tokens)|context_length",
    re.IGNORECASE,
)


class OpenAIPolicy:
    """A model behind /v1/chat/completions. Replies come in any order; nothing is waited for but them.

    An infrastructure failure, after retries, is a result with an error and never an answer. A conversation that has
    outgrown the model's context is an empty turn that was clipped; a first prompt too long is an error.

    Args:
        endpoint: The server.
        model: The model's name there.
        temperature: Of sampling; 0 asks for the likeliest tokens.
        top_p: Share of the likeliest tokens to sample from.
        dialect: What the server takes.
        name: What reports call the policy; the model's name when empty.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        *,
        temperature: float = 0.0,
        top_p: float = 1.0,
        dialect: Dialect | None = None,
        name: str = "",
    ) -> None:
        self.endpoint, self.model, self.temperature, self.top_p = endpoint, model, temperature, top_p
        self.dialect, self.name = dialect or Dialect(), name or f"openai:{model}"
        self.fingerprints: Counter[str] = Counter()
        """How many replies carried each `system_fingerprint`."""
        self.answering: str | None = None
        """The name under which the server answers; it may be longer than the one asked for."""
        self.completion_tokens = 0
        """Tokens written so far, by the server's count."""
        self.prompt_tokens = 0
        """Tokens of the prompts so far, by the server's count."""
        self.outgrown = 0
        """Turns without room in the model's context."""
        self._open: dict[int, tuple[TurnRequest, Future[ChatReply]]] = {}
        self._done: queue.SimpleQueue[tuple[int, Future[ChatReply]]] = queue.SimpleQueue()

    def submit(self, request: TurnRequest) -> None:
        """Send one turn's request."""
        future = self.endpoint.submit("/chat/completions", self.body(request), read_reply)
        self._open[request.key] = request, future
        future.add_done_callback(lambda done: self._done.put((request.key, done)))

    def poll(self) -> list[TurnResult]:
        """Wait briefly for a reply and return those that are there.

        Raises:
            EndpointDown: The endpoint answers nothing any more.
            HealthgymError: It answers with another model than before.
        """
        results: list[TurnResult] = []
        if not self._open:
            return results
        if self.endpoint.down is not None:
            raise self.endpoint.down
        with suppress(queue.Empty):
            one = self._done.get(timeout=POLL_S)
            while True:
                results += self._taken(*one)
                one = self._done.get_nowait()
        if self.endpoint.down is not None:  # what was answered still counts; what failed is asked when the run resumes
            results = [result for result in results if result.error is None]
            if not results:
                raise self.endpoint.down
        return results

    def cancel(self, key: int) -> None:
        """Forget a turn; the server notices that nobody listens."""
        pending = self._open.pop(key, None)
        if pending is not None:
            pending[1].cancel()

    def counters(self) -> dict[str, float]:
        """Return totals for the log."""
        return {
            "endpoint/completion_tokens": float(self.completion_tokens),
            "endpoint/prompt_tokens": float(self.prompt_tokens),
            "endpoint/retries": float(self.endpoint.retried),
            "endpoint/outgrown_contexts": float(self.outgrown),
        }

    def body(self, request: TurnRequest) -> dict[str, Any]:
        """Return the request as it is sent."""
        dialect = self.dialect
        body: dict[str, Any] = {
            "model": self.model,
            "messages": wire_messages(request.messages, request.tools, dialect.tools),
            "temperature": self.temperature,
            "top_p": self.top_p,
            **dialect.extra,
        }
        if request.max_tokens > 0:
            body[dialect.limit] = request.max_tokens
        if dialect.takes_seed:
            body["seed"] = request.seed & MAX_SEED
        if request.tools and dialect.tools in ("native", "markup"):
            body["tools"] = [dict(tool) for tool in request.tools]
            body["tool_choice"] = "auto" if dialect.tools == "native" else "none"
        return body

    def _taken(self, key: int, future: Future[ChatReply]) -> list[TurnResult]:
        pending = self._open.get(key)
        if pending is None or pending[1] is not future:
            return []  # it was cancelled meanwhile
        del self._open[key]
        try:
            reply = future.result()
        except CancelledError:
            return [TurnResult(key, "", error="the endpoint was closed")]
        except EndpointFailed as error:
            return [TurnResult(key, "", error=str(error))]
        except EndpointRefused as error:
            return [self._refused(pending[0], error)]
        return [self._result(key, reply)]

    def _result(self, key: int, reply: ChatReply) -> TurnResult:
        if reply.model is not None and self.answering not in (None, reply.model):
            raise HealthgymError(
                f"{self.endpoint.url} answered as {self.answering!r} and now answers as {reply.model!r}: another model is "
                "served than the one this run began with. Rows of two models do not belong together; begin a new run."
            )
        self.answering = reply.model or self.answering
        if reply.fingerprint is not None:
            if self.fingerprints and reply.fingerprint not in self.fingerprints:
                logger.warning("%s: the server's fingerprint changed to %s", self.endpoint.url, reply.fingerprint)
            self.fingerprints[reply.fingerprint] += 1
        self.completion_tokens += reply.tokens or 0
        self.prompt_tokens += reply.prompt_tokens or 0
        return TurnResult(key, reply.message, clipped=reply.clipped, num_tokens=reply.tokens)

    def _refused(self, request: TurnRequest, error: EndpointRefused) -> TurnResult:
        has_begun = any(message["role"] == "assistant" for message in request.messages)
        if has_begun and error.status in (400, 413, 422) and _TOO_LONG.search(error.said):
            self.outgrown += 1
            return TurnResult(request.key, "", clipped=True, num_tokens=0)
        return TurnResult(request.key, "", error=str(error))
