"""Accuracy: the typed answer and where the chart ended up."""

from healthgym.rewards.record import EpisodeRecord
from healthgym.tasks import grade_answer
from healthgym.tasks.predicates import holds


def accuracy(record: EpisodeRecord) -> tuple[float, dict[str, float]]:
    """Return the weighted mean credit in [0, 1], and the credit by part ("answer.x", "state.y").

    Nothing submitted earns 0, whatever was done: an episode that does not end has decided nothing.
    """
    criteria = record.task.criteria
    credit = grade_answer(criteria.answer, record.submission)
    parts = {f"answer.{name}": (credit[name], field.weight) for name, field in criteria.answer.items()}
    for path, condition in criteria.end_state.items():
        met = record.submission is not None and holds(record.world.value(path), condition)
        parts[f"state.{path}"] = (float(met), 1.0)
    total = sum(weight for _, weight in parts.values())
    mean = sum(value * weight for value, weight in parts.values()) / total
    if all(value == 1.0 for value, _ in parts.values()):
        mean = 1.0
    return mean, {name: value for name, (value, _) in parts.items()}
