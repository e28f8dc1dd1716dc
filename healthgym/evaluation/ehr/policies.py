"""Two policies that bound the scores: one that reads the answer off a query's result, one that never looks."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from healthgym.evaluation.ehr.answers import NOT_MEASURED, grade_submission
from healthgym.evaluation.items import Item
from healthgym.rollout.policy import TurnRequest
from healthgym.rollout.scripted import ScriptedPolicy, Turn, turn_index
from healthgym.tasks import Call


class LookingPolicy(ScriptedPolicy):
    """Runs each item's query with the agent's own tool and submits what the tool showed; it is not told the gold."""

    def __init__(self, items: Sequence[Item]) -> None:
        contents = {item.id: item.content for item in items}

        def look(request: TurnRequest) -> Turn:
            content = contents[request.task_id]
            if turn_index(request) == 0:
                return [Call("run_sql", query=content["sql"])]
            shown = read_shown(str(request.messages[-1]["content"]), content["kind"])
            unit = content["unit"] if shown != NOT_MEASURED else ""
            return [Call("submit_answer", value=shown, unit=unit)]

        super().__init__(look, name="oracle")


def read_shown(text: str, kind: str) -> Any:
    """Return the one value of a query's result as text shows it."""
    lines = text.splitlines()
    if len(lines) < 2 or lines[1] in ("NULL", "", "(no rows)"):
        return NOT_MEASURED
    return float(lines[1]) if kind in ("number", "count", "score") else lines[1]


def habits(items: Sequence[Item]) -> Mapping[str, Mapping[str, Any]]:
    """Return by template the one submission that is right most often on these items."""
    by_template: dict[str, list[Item]] = {}
    for item in items:
        by_template.setdefault(str(item.content["template"]), []).append(item)
    return {name: _best(group) for name, group in by_template.items()}


def habit_score(items: Sequence[Item], best: Mapping[str, Mapping[str, Any]]) -> float:
    """Return the share of items that submitting each template's habit gets right."""
    return sum(grade_submission(item.content, best[item.content["template"]]) for item in items) / max(1, len(items))


def _best(group: Sequence[Item]) -> Mapping[str, Any]:
    golds = Counter(item.content["gold"] for item in group)
    unit = group[0].content["unit"]
    tries = [
        {"value": NOT_MEASURED if gold is None else gold, "unit": "" if gold is None else unit}
        for gold in sorted(golds, key=lambda gold: (-golds[gold], str(gold)))
    ]
    return max(tries, key=lambda one: sum(grade_submission(item.content, one) for item in group))
