"""Items that are answered by one generated text: asked, read, kept as rows, and read again from the rows alone."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from healthgym.diagnostics.text import is_degenerate
from healthgym.errors import ContentError
from healthgym.evaluation.asking import Ask, Reply, ask
from healthgym.evaluation.benchmark import Keep, Settings
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.closed_set import answer_part
from healthgym.evaluation.items import Attempt, Item
from healthgym.evaluation.refusals import only_declines
from healthgym.evaluation.rows import Row, Status

Messages = list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What an output was read as: status, headline score when answered, further scores, the answer itself."""

    status: Status
    score: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    prediction: str | None = None


Read = Callable[[str, bool, Item], Reading]
"""Takes output, whether it ran into the limit of tokens, and the item."""


def unusable(output: str, clipped: bool) -> Status | None:
    """Say why an output cannot be taken as a whole answer, or None when it can.

    Text that has fallen apart is degenerate, whatever it opens with; declining is refused; an answer that ran into the
    limit of tokens is truncated; nothing written, or nothing but thinking, is unparsed.
    """
    answer = answer_part(output).strip()
    if is_degenerate(output):
        return "degenerate"
    if not answer:
        return "truncated" if clipped else "unparsed"
    if only_declines(answer):
        return "refused"
    return "truncated" if clipped else None


def generate_rows(
    attempts: Sequence[Attempt],
    candidate: Candidate,
    settings: Settings,
    keep: Keep,
    *,
    messages: Callable[[Item], Messages],
    read: Read,
    gold: Callable[[Item], str | None],
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Ask for every attempt and keep one row each, as answers come.

    Args:
        attempts: What is asked.
        candidate: Who answers.
        settings: How.
        keep: Takes each row.
        messages: What is asked about an item; a ContentError makes the row an infra_error and asks nothing.
        read: How an output is read.
        gold: The expected answer of an item as text.
        detail: What every row's detail holds besides.
    """

    def bare(attempt: Attempt) -> dict[str, Any]:
        item = attempt.item
        return {
            "id": item.id, "attempt": attempt.number, "cluster": item.cluster or item.id, "strata": dict(item.strata),
            "gold": gold(item), "seed": attempt.seed,
        }  # fmt: skip

    def asks() -> Iterator[Ask]:
        for key, attempt in enumerate(attempts):
            try:
                yield Ask(key, messages(attempt.item), attempt.sampling_seed(settings.sampling_seed))
            except ContentError as error:
                keep(Row(**bare(attempt), status="infra_error", error=str(error), detail=dict(detail or {})))

    def on_reply(reply: Reply) -> None:
        attempt = attempts[reply.key]
        noted = {**(detail or {}), "clipped": reply.clipped}
        if reply.error is not None:
            keep(Row(**bare(attempt), status="infra_error", error=reply.error, detail=noted))
            return
        reading = read(reply.text, reply.clipped, attempt.item)
        keep(
            Row(
                **bare(attempt), status=reading.status, score=reading.score, scores=reading.scores,
                prediction=reading.prediction, output=reply.text, tokens=reply.tokens, detail=noted,
            )
        )  # fmt: skip

    ask(candidate, asks(), on_reply, max_tokens=settings.max_tokens, in_flight=settings.in_flight)


def read_again(row: Row, item: Item, read: Read, gold: str | None) -> Row:
    """Return the row with its output read again; a row without an output because of the infrastructure stays."""
    if row.status == "infra_error":
        return row
    reading = read(row.output, bool(row.detail.get("clipped")), item)
    return replace(
        row, status=reading.status, score=reading.score, scores=reading.scores, prediction=reading.prediction,
        gold=gold, error="",
    )  # fmt: skip
