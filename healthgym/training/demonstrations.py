"""Demonstrations for a warm start: oracle traces with skills missing, and traces that mend what a hint names."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from healthgym.errors import ConfigError
from healthgym.registry import Domain
from healthgym.rewards import Grade
from healthgym.tasks import Call, Case

Turns = tuple[tuple[Call, ...], ...]
"""The calls of an episode by assistant turn."""
Judge = Callable[[Turns], Grade]
"""Plays the calls in a fresh episode of one case and grades it."""


@dataclass(frozen=True)
class Script:
    """A plan for one demonstration."""

    turns: Turns
    skipped: frozenset[int]
    """Places in the oracle's list of calls that were left out."""
    is_wrong: bool
    """Whether the submission was replaced by another task's answer."""


def partial_script(
    case: Case, domain: Domain, others: Sequence[Case], rng: np.random.Generator, *, skip: float, wrong: float
) -> Script:
    """Return the oracle's plan with some of its looking left out, and sometimes another task's answer.

    Perfect demonstrations leave a policy nothing to learn by reinforcement, and fewer of them teach nothing until they
    teach everything.

    Args:
        case: The task to demonstrate.
        domain: Its domain; says which calls only look.
        others: Cases whose answers may be borrowed; only those of the same family are.
        rng: Source of all choices.
        skip: Chance that a looking call is left out, in [0, 1].
        wrong: Chance that the submission takes another task's answer, in [0, 1].
    """
    calls = case.task.solution
    skipped = frozenset(i for i, call in enumerate(calls) if _only_looks(call, domain) and rng.random() < skip)
    answer = None
    if rng.random() < wrong:
        answer = _borrowed(case, others, rng)
    return Script(_turns(case, skipped, domain, answer), skipped, answer is not None)


def attempted_script(case: Case, domain: Domain, called: Sequence[str]) -> Script:
    """Return the oracle's plan without the looking calls whose tools an attempt never called.

    Args:
        case: The task that was attempted.
        domain: Its domain.
        called: Names of the tools the attempt called.
    """
    skipped = frozenset(
        place for place, call in enumerate(case.task.solution) if _only_looks(call, domain) and call.tool not in called
    )
    return Script(_turns(case, skipped, domain, None), skipped, is_wrong=False)


def corrective_script(case: Case, domain: Domain, script: Script, grade: Grade, judge: Judge) -> Script:
    """Return the plan that mends what the hint on a failed attempt names, and nothing else.

    Missing evidence is named, so calls that reveal it come back; a wrong decision is named, so the answer becomes the
    oracle's. Calls that were skipped without anything missing stay out, or hints would be read as "do everything".

    Args:
        case: The task.
        domain: Its domain.
        script: The attempt.
        grade: How the attempt went.
        judge: Plays a plan and grades it.
    """
    skipped = script.skipped
    if grade.missing_evidence:
        kept_out: set[int] = set()
        for place in sorted(skipped):
            if not judge(_turns(case, frozenset(kept_out | {place}), domain, None)).missing_evidence:
                kept_out.add(place)
        skipped = frozenset(kept_out)
    return Script(_turns(case, skipped, domain, None), skipped, is_wrong=False)


def draw_chance(bounds: tuple[float, float], rng: np.random.Generator) -> float:
    """Draw one demonstration's chance from a range.

    Raises:
        ConfigError: The range is upside down.
    """
    low, high = bounds
    if low > high:
        raise ConfigError(f"warm_start ranges go from low to high, got {low} to {high}")
    return float(rng.uniform(low, high))


def _only_looks(call: Call, domain: Domain) -> bool:
    return domain.tools[call.tool].effect in ("read", "think")


def _turns(case: Case, skipped: frozenset[int], domain: Domain, answer: dict[str, object] | None) -> Turns:
    place, turns = 0, []
    for turn in case.task.turns_of_solution():
        kept = []
        for call in turn:
            if place not in skipped:
                is_submission = answer is not None and call.tool == domain.submit_tool.name
                kept.append(Call(call.tool, **{**call.arguments, **(answer or {})}) if is_submission else call)
            place += 1
        if kept:
            turns.append(tuple(kept))
    return tuple(turns)


def _borrowed(case: Case, others: Sequence[Case], rng: np.random.Generator) -> dict[str, object] | None:
    """Return another task's answer that differs from this one's, or None when there is none."""
    names = case.task.criteria.answer.keys()
    own = _answer(case)
    candidates = [
        answer
        for other in others
        if other.task.family == case.task.family and other.task.criteria.answer.keys() == names
        if (answer := _answer(other)) != own
    ]
    return candidates[int(rng.integers(len(candidates)))] if candidates else None


def _answer(case: Case) -> dict[str, object]:
    return {name: field.example for name, field in case.task.criteria.answer.items()}
