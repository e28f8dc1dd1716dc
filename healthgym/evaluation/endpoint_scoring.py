"""Log-probabilities of given continuations from a completions endpoint that takes token ids."""

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from typing import Any, Literal

from healthgym.errors import HealthgymError
from healthgym.evaluation.candidate import Options, OptionScores
from healthgym.rollout.endpoint import Endpoint, EndpointFailed, EndpointRefused, Unusable

Form = Literal["prompt_logprobs", "echo"]
"""How a server is asked: vLLM's own field, or the older `echo` with `logprobs`."""
Token = tuple[float, bool]
"""Log-probability in nats, and whether no other token was likelier."""

PROBE_IDS = (11, 23, 7, 42, 19, 5, 31, 13)
"""Token ids that every vocabulary has."""


class EndpointScores:
    """Scores options behind an endpoint, `in_flight` requests at a time. A `LogLikelihoods`.

    Args:
        endpoint: The server.
        model: Name of the model there.
        form: How it is asked; see `scoring_form`.
        in_flight: Most requests at once.
    """

    def __init__(self, endpoint: Endpoint, model: str, form: Form, *, in_flight: int = 128) -> None:
        self.endpoint, self.model, self.form, self.in_flight = endpoint, model, form, in_flight

    def __call__(self, requests: Sequence[Options], on_done: Callable[[OptionScores], None]) -> None:
        """Score every request and hand over each as it is done.

        Raises:
            EndpointDown: The endpoint answers nothing any more.
            EndpointFailed: Some requests failed for good; all others were handed over before.
        """
        left = {at: len(one.continuations) for at, one in enumerate(requests)}
        found: dict[int, dict[int, list[Token]]] = {at: {} for at in left}
        waiting = ((at, number) for at, one in enumerate(requests) for number in range(len(one.continuations)))
        open_futures: dict[Future[list[Token]], tuple[int, int]] = {}
        failed: dict[int, HealthgymError] = {}
        try:
            while True:
                while len(open_futures) < self.in_flight and (place := next(waiting, None)) is not None:
                    request = requests[place[0]]
                    future = self._submit(request.prompt_ids, request.continuations[place[1]])
                    open_futures[future] = place
                if not open_futures:
                    break
                for future in wait(open_futures, return_when=FIRST_COMPLETED).done:
                    at, number = open_futures.pop(future)
                    try:
                        found[at][number] = future.result()
                    except (EndpointFailed, EndpointRefused) as error:
                        failed[at] = error
                    left[at] -= 1
                    if not left[at]:
                        tokens = found.pop(at)
                        if at not in failed:
                            on_done(_scores(requests[at].key, tokens))
                if self.endpoint.down is not None:
                    raise self.endpoint.down
        finally:
            for future in open_futures:
                future.cancel()
        if failed:
            raise EndpointFailed(
                f"{len(failed)} of {len(requests)} questions could not be scored, the first because: {next(iter(failed.values()))}"
            )

    def tokens(self, ids: Sequence[int]) -> list[Token]:
        """Return what the model gives each token but the first."""
        patience = replace(self.endpoint.patience, retries=1)
        answer = self.endpoint.ask("POST", "/completions", self._body(ids), patience=patience)
        return _read(answer, ids, 1, self.form)

    def _submit(self, prompt_ids: Sequence[int], continuation: Sequence[int]) -> Future[list[Token]]:
        ids = [*prompt_ids, *continuation]
        start = len(prompt_ids)
        return self.endpoint.submit(
            "/completions", self._body(ids), lambda answer: _read(answer, ids, start, self.form)
        )

    def _body(self, ids: Sequence[int]) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.model, "prompt": list(ids), "max_tokens": 1, "temperature": 1.0}
        if self.form == "prompt_logprobs":
            return body | {"prompt_logprobs": 1, "add_special_tokens": False}
        return body | {"echo": True, "logprobs": 1}


def scoring_form(endpoint: Endpoint, model: str) -> tuple[Form | None, str]:
    """Return how a server scores given tokens; None for one that cannot, with what it answered."""
    reasons = []
    forms: tuple[Form, ...] = ("prompt_logprobs", "echo")
    for form in forms:
        try:
            EndpointScores(endpoint, model, form).tokens(PROBE_IDS)
        except (EndpointFailed, EndpointRefused, Unusable) as error:
            reasons.append(f"{form}: {error}")
        else:
            return form, ""
    return None, "; ".join(reasons)


def _scores(key: int, tokens: Mapping[int, Sequence[Token]]) -> OptionScores:
    ordered = [tokens[number] for number in sorted(tokens)]
    return OptionScores(
        key,
        tuple(math.fsum(logprob for logprob, _ in each) for each in ordered),
        tuple(all(is_likeliest for _, is_likeliest in each) for each in ordered),
    )


def _read(answer: Any, ids: Sequence[int], start: int, form: Form) -> list[Token]:
    """Return what is said of `ids[start:]`. Raises Unusable when it cannot be matched token by token."""
    try:
        choice = answer["choices"][0]
        told = answer.get("usage", {}).get("prompt_tokens", len(ids))
        if told != len(ids):
            raise Unusable(f"{told} tokens were read where {len(ids)} were sent: the server adds tokens of its own")
        if form == "prompt_logprobs":
            entries = choice["prompt_logprobs"]
            if len(entries) != len(ids):
                raise Unusable(f"{len(entries)} log-probabilities for {len(ids)} tokens")
            found = [entries[at][str(ids[at])] for at in range(start, len(ids))]
            tokens = [(float(one["logprob"]), one["rank"] == 1) for one in found]
        else:
            logprobs, top = choice["logprobs"]["token_logprobs"], choice["logprobs"]["top_logprobs"]
            if len(logprobs) not in (len(ids), len(ids) + 1):
                raise Unusable(f"{len(logprobs)} log-probabilities for {len(ids)} tokens")
            tokens = [(float(logprobs[at]), logprobs[at] >= max(top[at].values())) for at in range(start, len(ids))]
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise Unusable(f"no log-probabilities of the prompt's tokens ({type(error).__name__}: {error})") from error
    if not all(math.isfinite(logprob) for logprob, _ in tokens):
        raise Unusable("log-probabilities that are no numbers")
    return tokens
