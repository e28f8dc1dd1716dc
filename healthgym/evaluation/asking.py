"""Single answers: messages in, text out, through the same policies that play episodes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from healthgym.errors import HealthgymError
from healthgym.evaluation.candidate import Candidate
from healthgym.rollout.policy import TurnRequest, TurnResult


@dataclass(frozen=True, slots=True)
class Ask:
    """One prompt. `messages` are chat messages; their content may hold image blocks where the candidate has vision.

    key: names it in the answer.
    seed: seeds the sampling.
    """

    key: int
    messages: Sequence[Mapping[str, Any]]
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer.

    text: what the model wrote, without the mark that ends its turn.
    tokens: how many it wrote; None when the engine does not say.
    clipped: whether it ran into the limit of tokens.
    error: set when the infrastructure failed; the reply then says nothing about the model.
    """

    key: int
    text: str
    tokens: int | None = None
    clipped: bool = False
    error: str | None = None


def ask(
    candidate: Candidate,
    asks: Iterable[Ask],
    on_reply: Callable[[Reply], None],
    *,
    max_tokens: int,
    in_flight: int = 64,
) -> None:
    """Put every prompt to the candidate, `in_flight` at a time, and hand over each reply as it comes.

    A prompt that leaves no room in the model's context is answered by an error, and the others go on.

    Raises:
        HealthgymError: The policy answered for a prompt that it was not asked.
    """
    waiting = iter(asks)
    open_keys: set[int] = set()
    try:
        while True:
            while len(open_keys) < in_flight and (one := next(waiting, None)) is not None:
                request = _request(candidate, one, max_tokens)
                if isinstance(request, Reply):
                    on_reply(request)
                    continue
                open_keys.add(one.key)
                candidate.policy.submit(request)
            if not open_keys:
                return
            for result in candidate.policy.poll():
                if result.key not in open_keys:
                    raise HealthgymError(f"{candidate.policy.name} answered for prompt {result.key}, which is not open")
                open_keys.remove(result.key)
                candidate.policy.cancel(result.key)
                on_reply(_reply(candidate, result))
    finally:
        for key in open_keys:
            candidate.policy.cancel(key)


def ask_all(candidate: Candidate, asks: Sequence[Ask], *, max_tokens: int, in_flight: int = 64) -> Iterator[Reply]:
    """Return the replies in the order of the prompts."""
    replies: dict[int, Reply] = {}
    ask(
        candidate, asks, lambda reply: replies.__setitem__(reply.key, reply), max_tokens=max_tokens, in_flight=in_flight
    )
    return (replies[one.key] for one in asks)


def _request(candidate: Candidate, one: Ask, max_tokens: int) -> TurnRequest | Reply:
    ids: Sequence[int] = ()
    if candidate.template is not None:
        ids = candidate.template.prompt_ids(one.messages)
        room = max_tokens if candidate.max_context is None else min(max_tokens, candidate.max_context - len(ids))
        if room < 1:
            return Reply(
                one.key, "", error=f"the prompt's {len(ids)} tokens fill the {candidate.max_context} positions"
            )
        max_tokens = room
    return TurnRequest(
        key=one.key, task_id=str(one.key), messages=one.messages, tools=(), prompt_ids=ids, max_tokens=max_tokens,
        seed=one.seed,
    )  # fmt: skip


def _reply(candidate: Candidate, result: TurnResult) -> Reply:
    message = result.message
    if candidate.template is not None and result.token_ids:
        text = candidate.template.tokenizer.decode(list(result.token_ids), skip_special_tokens=True)
    else:
        text = message if isinstance(message, str) else str(message.get("content") or "")
    return Reply(
        result.key, text, tokens=len(result.token_ids) or result.num_tokens, clipped=result.clipped, error=result.error,
    )  # fmt: skip
