"""Outcome-privileged hints: what the teacher is told about an attempt, and the student that makes it is not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from healthgym.errors import ConfigError, nearest
from healthgym.rewards import Grade

Outcome = Literal["correct", "wrong", "unsafe", "no_submission"]
HintLevel = Literal["outcome", "process", "answer"]
LEVELS: tuple[HintLevel, ...] = ("outcome", "process", "answer")

OPENING = "Review of an attempt at this task:"
VERDICTS: dict[Outcome, str] = {
    "correct": "the decision was right.",
    "wrong": "the decision was wrong.",
    "unsafe": "an action was unsafe.",
    "no_submission": "no decision was submitted.",
}
MISSING = "Not checked before deciding:"
HARM = "Harm to avoid:"
ANSWER = "Right answer:"
HINT_WORDING = (OPENING, *VERDICTS.values(), MISSING, HARM, ANSWER)
"""Fixed phrases of every hint. Warm starts may show them to the student; none teaches it to write them."""


@dataclass(frozen=True, kw_only=True)
class HintFacts:
    """What grading found out, in categories.

    `missing_evidence` and `hazards` hold labels of kinds ("allergies", "vital signs"), never values; `answer` is the gold
    and is used by level `answer` alone.
    """

    outcome: Outcome | None
    missing_evidence: tuple[str, ...] = ()
    hazards: tuple[str, ...] = ()
    answer: str = ""


def grade_facts(grade: Grade, answer: str = "") -> HintFacts:
    """Return what a grade says, by category; `answer` is the gold, where it may be told."""
    return HintFacts(
        outcome=grade.outcome,
        missing_evidence=tuple(grade.missing_evidence),
        hazards=tuple(hit.label for hit in grade.hazards),
        answer=answer,
    )


def hint_text(facts: HintFacts, level: HintLevel = "process") -> str | None:
    """Return the hint for one graded attempt, or None when its outcome is unknown.

    Args:
        facts: What grading found out.
        level: `outcome` says only how it went; `process` adds which kinds of evidence were missing and which kinds of
            harm were met; `answer` adds the gold.

    Raises:
        ConfigError: Unknown level.
    """
    if level not in LEVELS:
        raise ConfigError(f"hint.level {level!r} is unknown.{nearest(level, LEVELS)}")
    if facts.outcome is None:
        return None
    sentences = [f"{OPENING} {VERDICTS[facts.outcome]}"]
    if level != "outcome":
        sentences += _listed(MISSING, facts.missing_evidence) + _listed(HARM, facts.hazards)
    if level == "answer" and facts.answer:
        sentences.append(f"{ANSWER} {facts.answer}.")
    return " ".join(sentences)


def _listed(opening: str, labels: Sequence[str]) -> list[str]:
    unique = list(dict.fromkeys(labels))
    return [f"{opening} {', '.join(unique)}."] if unique else []
