"""A candidate whose answers a test writes, and rows measured with it."""

from collections.abc import Callable
from typing import Any

from healthgym.evaluation.benchmark import Benchmark, Settings
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.items import attempts_at
from healthgym.evaluation.rows import Row
from healthgym.rollout.policy import TurnRequest, TurnResult


class AnsweringPolicy:
    """Answers each prompt with what `answer` makes of its messages; a text of more than `max_tokens` words is cut."""

    name = "answering"

    def __init__(self, answer: Callable[[list[dict[str, Any]]], str]) -> None:
        self.answer = answer
        self.asked: list[list[dict[str, Any]]] = []
        self._pending: dict[int, TurnRequest] = {}

    def submit(self, request: TurnRequest) -> None:
        self._pending[request.key] = request

    def poll(self) -> list[TurnResult]:
        pending, self._pending = self._pending, {}
        results = []
        for request in pending.values():
            messages = [dict(message) for message in request.messages]
            self.asked.append(messages)
            text = self.answer(messages)
            clipped = len(text.split()) > request.max_tokens
            results.append(TurnResult(request.key, text, clipped=clipped))
        return results

    def cancel(self, key: int) -> None:
        self._pending.pop(key, None)


def candidate(answer: Callable[[list[dict[str, Any]]], str] | str, *, sees: bool = True) -> Candidate:
    policy = AnsweringPolicy((lambda _: answer) if isinstance(answer, str) else answer)
    return Candidate(name="scripted", engine="test", policy=policy, has_vision=sees)


def text_in(messages: list[dict[str, Any]]) -> str:
    content = messages[-1]["content"]
    return content if isinstance(content, str) else content[-1]["text"]


def measured(benchmark: Benchmark, who: Candidate, *, max_tokens: int = 512) -> dict[str, Row]:
    """Return the rows by item id, after checking that each attempt gave one and that a second reading agrees."""
    items = benchmark.items()
    rows: list[Row] = []
    settings = Settings(mode="text", max_tokens=max_tokens)
    benchmark.measure(attempts_at(items, 1), who, settings, None, lambda row, trajectory=None: rows.append(row))
    assert sorted(row.id for row in rows) == sorted(item.id for item in items)
    by_id = {item.id: item for item in items}
    for row in rows:
        assert benchmark.rescore(Row.from_record(row.to_record()), by_id[row.id]) == row
    return {row.id: row for row in rows}
