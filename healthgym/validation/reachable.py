"""Proof that golds rest on what an agent can learn: who knows the same and was asked the same must answer the same."""

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from healthgym.tasks import AnswerField, Case
from healthgym.validation.failures import FailureLog
from healthgym.validation.replay import Played


class ReachableGolds:
    """Compares cases whose oracles were asked the same and learnt the same, over a whole domain."""

    def __init__(self, log: FailureLog) -> None:
        self.log = log
        self._seen: dict[str, tuple[str, str]] = {}

    def observe(self, case: Case, played: Played) -> None:
        """Log a case whose gold differs from that of an earlier case with the same prompt, replies and facts."""
        task = case.task
        gold = json.dumps(
            _golds(task.criteria.answer.items()) | _golds(task.criteria.end_state.items()), sort_keys=True
        )
        known = sorted((fact.key, fact.value, fact.unit) for fact in played.episode.world.facts.values())
        replies = [message["content"] for message in played.episode.messages if message["role"] == "tool"]
        # What a change answers follows from the oracle's choice, not from the patient.
        read = [reply for reply, touch in zip(replies, played.touches, strict=False) if touch.effect == "read"]
        place = sha256(json.dumps([task.family, task.prompt, known, read], default=str).encode()).hexdigest()
        other_id, other_gold = self._seen.setdefault(place, (task.id, gold))
        if other_gold != gold:
            self.log.add(
                "family", task.family, "the gold rests on something that no call of the oracle shows",
                "Let a tool reveal what tells the two apart, and have the oracle call it.",
                example=f"{task.id} and {other_id} ask and show the same, but their golds are {gold} and {other_gold}",
            )  # fmt: skip


def _golds(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {
        name: json.loads(json.dumps(rule.gold if isinstance(rule, AnswerField) else rule, default=str))
        for name, rule in items
    }
