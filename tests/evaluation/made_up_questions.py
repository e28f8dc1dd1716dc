"""Questions with made-up content, candidates that follow a script, and a knowledge base of a few passages."""

from collections.abc import Callable, Sequence

from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.items import Item
from healthgym.evaluation.rows import Row
from healthgym.retrieval import MemoryRetriever, Passage
from healthgym.rollout.policy import TurnRequest
from healthgym.rollout.scripted import ScriptedPolicy, Turn
from healthgym.world import Services

COPIED = (
    "A gardener of fifty has had a tingling thumb every night since she began to prune the old apple trees last autumn"
)
"""More than 13 words, as a benchmark's question would be found in a passage."""


def lettered(number: int, *, gold: str = "B", question: str | None = None) -> Item:
    content = {
        "question": question or f"Which of these is fact number {number}?",
        "options": {"A": "the first", "B": "the second", "C": "the third", "D": "the fourth"},
        "answer": gold,
        "context": None,
    }
    return Item(id=f"q{number}", content=content, strata={"subset": "made_up"})


def decided(number: int, gold: str = "maybe") -> Item:
    content = {"question": "Does it help?", "options": None, "answer": gold, "context": "METHODS: Twenty were asked."}
    return Item(id=f"d{number}", content=content)


def passage(name: str, text: str) -> Passage:
    return Passage(id=name, title=f"On {name}", text=text, source="made up", licence="CC0-1.0")


def knowledge(*extra: Passage) -> Services:
    plain = passage("nerves", "The median nerve runs through the carpal tunnel and is pressed on there.")
    return Services(retriever=MemoryRetriever([plain, *extra]))


def candidate(script: Callable[[TurnRequest], Turn]) -> Candidate:
    return Candidate(name="scripted", engine="scripted 1", policy=ScriptedPolicy(script))


class Kept:
    """Takes rows and trajectories, as a runner does."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.trajectories: list[object] = []

    def __call__(self, row: Row, trajectory: object = None, /) -> None:
        self.rows.append(row)
        self.trajectories.append(trajectory)

    def by_id(self) -> dict[str, Row]:
        assert len({row.key for row in self.rows}) == len(self.rows)
        return {row.id: row for row in self.rows}


def statuses(rows: Sequence[Row]) -> dict[str, str]:
    return {row.id: row.status for row in rows}
