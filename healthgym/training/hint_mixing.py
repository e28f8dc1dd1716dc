"""Other attempts' hints: the wrong one that a contrast subtracts, and the one that a shuffled control is told."""

from collections.abc import Sequence
from dataclasses import replace

from healthgym.training.hints import HintFacts, HintLevel, hint_text


def foreign_hints(
    hints: Sequence[str | None], tasks: Sequence[str], outcomes: Sequence[str | None] | None = None
) -> list[str | None]:
    """Give each attempt another one's hint that reads differently; None where it has none, or all read alike.

    Args:
        hints: The hint of each attempt.
        tasks: The task of each; a hint about another task is preferred, since the same task's may still help.
        outcomes: When given, a hint of the opposite success is preferred above all.

    Ties go to the next attempt in the batch. This is no permutation: where few attempts read differently, their hints are told
    often, and with two readings in the batch each attempt is told the one that is not its own.
    """
    count = len(hints)

    def merit(own: int, other: int) -> tuple[bool, bool]:
        opposite = outcomes is not None and (outcomes[own] == "correct") != (outcomes[other] == "correct")
        return opposite, tasks[own] != tasks[other]

    found: list[str | None] = []
    for own, hint in enumerate(hints):
        others = [(own + step) % count for step in range(1, count)] if hint is not None else []
        others = [other for other in others if hints[other] is not None and hints[other] != hint]
        found.append(hints[max(others, key=lambda other: merit(own, other))] if others else None)
    return found


def wrong_hints(facts: Sequence[HintFacts], tasks: Sequence[str], level: HintLevel) -> list[str | None]:
    """Return a wrong hint for each attempt that has a right one: another attempt's, or its own with the verdict turned."""
    hints = [hint_text(one, level) for one in facts]
    foreign = foreign_hints(hints, tasks, [one.outcome for one in facts])
    return [
        hint_text(_turned(one), level) if other is None and hint is not None else other
        for one, hint, other in zip(facts, hints, foreign, strict=True)
    ]


def _turned(facts: HintFacts) -> HintFacts:
    return replace(facts, outcome="wrong" if facts.outcome == "correct" else "correct", missing_evidence=(), hazards=())
