"""Accuracy: the typed answer and where the chart ended up."""

from typing import Any

from healthgym.rewards.record import EpisodeRecord
from healthgym.tasks import AnswerField, grade_answer, grade_field, grade_items
from healthgym.tasks.predicates import holds


def accuracy(record: EpisodeRecord) -> tuple[float, dict[str, float]]:
    """Return the weighted mean credit in [0, 1], and the credit by part ("answer.x", "state.y", "answer.x.0.size_mm").

    Nothing submitted earns 0, whatever was done: an episode that does not end has decided nothing.
    """
    criteria = record.task.criteria
    credit = grade_answer(criteria.answer, record.submission)
    parts = {f"answer.{name}": (credit[name], field.weight) for name, field in criteria.answer.items()}
    values = {f"answer.{name}": (field, (record.submission or {}).get(name)) for name, field in criteria.answer.items()}
    for path, condition in criteria.end_state.items():
        value = record.world.value(path) if record.submission is not None else None
        if isinstance(condition, AnswerField):
            values[f"state.{path}"] = (condition, value)
            parts[f"state.{path}"] = (grade_field(condition, value), condition.weight)
        else:
            met = record.submission is not None and holds(value, condition)
            parts[f"state.{path}"] = (float(met), 1.0)
    total = sum(weight for _, weight in parts.values())
    mean = sum(value * weight for value, weight in parts.values()) / total
    if all(value == 1.0 for value, _ in parts.values()):
        mean = 1.0
    details = {name: credit for path, pair in values.items() for name, credit in _details(path, *pair).items()}
    return mean, {**{name: value for name, (value, _) in parts.items()}, **details}


def _details(path: str, field: AnswerField, value: Any) -> dict[str, float]:
    """Return the credit of every part of every gold item, for reading: it is in the field's own credit already."""
    if field.compare != "items":
        return {}
    return {
        f"{path}.{place}.{name}": credit
        for place, item in enumerate(grade_items(field, value))
        for name, credit in item.parts.items()
    }
