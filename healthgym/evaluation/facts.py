"""Statements that an answer should make: what a judge says of each, and the scores that follow.

A judge reads an answer and says of each statement whether the answer entails it, contradicts it or leaves it open. There is
no judge unless one is named: without one there are no fact scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from healthgym.errors import GraderError

Verdict = Literal["entails", "contradicts", "neutral"]
VERDICTS: tuple[Verdict, ...] = ("entails", "contradicts", "neutral")


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement; `must` where an answer that lacks it is wanting, else it is merely nice to have."""

    text: str
    must: bool = True


class Judge(Protocol):
    """Says what an answer makes of statements."""

    name: str
    """Names the judge in results: two results are alike only under one judge."""

    def __call__(self, question: str, answer: str, statements: Sequence[str]) -> list[Verdict]:
        """Return one verdict for each statement.

        Raises:
            HealthgymError: There is no verdict to be had; the row becomes a grader_error.
        """


def judged(judge: Judge, question: str, answer: str, facts: Sequence[Fact]) -> list[dict[str, Any]]:
    """Return {"text", "must", "verdict"} of each fact.

    Raises:
        GraderError: The judge gave another number of verdicts, or something that is none.
    """
    verdicts = judge(question, answer, [fact.text for fact in facts]) if facts else []
    if len(verdicts) != len(facts) or any(verdict not in VERDICTS for verdict in verdicts):
        raise GraderError(
            f"{judge.name} gave {verdicts!r} for {len(facts)} statements; expected one of {VERDICTS} for each"
        )
    return [
        {"text": fact.text, "must": fact.must, "verdict": verdict}
        for fact, verdict in zip(facts, verdicts, strict=True)
    ]


def fact_scores(verdicts: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the scores of one answer from its verdicts; none where there are no facts.

    comprehensiveness: share of must-have facts that the answer entails, in [0, 1]; absent without must-have facts.
    hallucinations: how many facts, must-have or not, the answer contradicts; its mean over answers is the published rate.
    contradicted: the same as a share of the facts, in [0, 1].

    Source: K-QA, Manes et al., arXiv:2401.14493 (2024), sec. 4.
    """
    must = [verdict for verdict in verdicts if verdict["must"]]
    against = sum(verdict["verdict"] == "contradicts" for verdict in verdicts)
    scores: dict[str, float] = {}
    if must:
        scores["comprehensiveness"] = sum(verdict["verdict"] == "entails" for verdict in must) / len(must)
    if verdicts:
        scores |= {"hallucinations": float(against), "contradicted": against / len(verdicts)}
    return scores
