"""What every task family shares: difficulty, turns through scenarios, wording, and putting a Case together."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from healthgym.errors import TaskError
from healthgym.tasks import AnswerField, Budget, Call, Case, Criteria, Deadline, Evidence, Hazard, Task
from healthgym.tasks.families import Draw
from healthgym.tasks.task import Difficulty
from healthgym.world import Chart

from .chart_tools import is_fetus
from .tables import table

DIFFICULTIES: tuple[Difficulty, ...] = ("easy", "medium", "hard")
COUNTS = {"train": 18, "val": 2, "test": 4, "test_ood": 3}
"""Cases of a family by split."""
SPARE_CALLS = 6
T = TypeVar("T")


def difficulty_of(draw: Draw) -> Difficulty:
    """Return easy, medium or hard by turns of the index, so that every split has all it has room for."""
    return DIFFICULTIES[draw.index % 3]


def pick(draw: Draw, items: Sequence[T]) -> T:
    """Return one of `items`, uniformly."""
    return items[int(draw.rng.integers(len(items)))]


def whole(draw: Draw, low: int, high: int) -> int:
    """Return a whole number from low to high, both included."""
    return int(draw.rng.integers(low, high + 1))


def scenario(draw: Draw, rows: Sequence[str], held_out: Sequence[str]) -> str:
    """Return the scenario of this case: by turns, held-out ones in test_ood alone, so that answers stay spread."""
    mine = [row for row in rows if (row in held_out) == (draw.split == "test_ood")]
    if not mine:
        raise TaskError(f"family {draw.family}: no scenario for split {draw.split}")
    start = {"train": 0, "val": 1, "test": 2, "test_ood": 0}[draw.split]
    return mine[(draw.index + start) % len(mine)]


def seen(key: str, label: str, at_least: int = 1) -> Evidence:
    """Return the demand that a fact was seen."""
    return Evidence(any_of=(key,), label=label, at_least=at_least)


def record_read(section: str) -> Evidence:
    """Return the demand that a section of P1's record was read."""
    return seen(f"P1.record.{section}", section.replace("_", " "))


def read(section: str) -> Call:
    """Return the call that reads a section of P1's record."""
    return Call("read_record", patient_id="P1", section=section)


def introduction(chart: Chart, difficulty: Difficulty) -> str:
    """Return how a patient is announced: with weeks and opening words when easy, by age when medium, else by id."""
    if difficulty == "hard":
        return chart.patient_id
    if difficulty == "medium":
        return f"{chart.patient_id} ({chart.age_years:.0f} y)"
    weeks = f", {chart.extra['weeks_text']}" if chart.extra.get("weeks_text") else ""
    return f'{chart.patient_id} ({chart.age_years:.0f} y{weeks}: "{chart.chief_complaint}")'


def make_case(
    draw: Draw,
    charts: Sequence[Chart],
    *,
    answer: Mapping[str, Any],
    evidence: Sequence[Evidence],
    solution: Sequence[Call],
    end_state: Mapping[str, Any] | None = None,
    hazards: Sequence[Hazard] = (),
    deadlines: Sequence[Deadline] = (),
    topic: str = "",
    difficulty: Difficulty | None = None,
    words: Mapping[str, str] | None = None,
) -> Case:
    """Put a Case together; plain golds become exact answers, and the solution ends by submitting the golds.

    Args:
        draw: Where the case stands.
        charts: Mother first.
        answer: Gold by argument of the submission: a plain value, or an AnswerField.
        evidence: What must have been seen.
        solution: Calls that come before the submission.
        end_state: What must have been done.
        hazards: Calls that harm.
        deadlines: Calls that must be made in time.
        topic: Name of the scenario, kept as the task's condition.
        difficulty: Fixes the difficulty; by turns when None.
        words: Further words of the prompt.
    """
    level = difficulty or difficulty_of(draw)
    fields = {name: gold if isinstance(gold, AnswerField) else AnswerField(gold=gold) for name, gold in answer.items()}
    calls = (*solution, Call("submit_decision", **{name: field.gold for name, field in fields.items()}))
    prompt, template = _wording(draw, {"who": introduction(charts[0], level), **(words or {})})
    limit = len(calls) + SPARE_CALLS
    task = Task(
        id=draw.task_id,
        domain=draw.domain,
        split=draw.split,
        family=draw.family,
        seed=draw.seed,
        prompt=prompt,
        template=template,
        difficulty=level,
        condition=topic,
        criteria=Criteria(
            answer=fields,
            end_state=dict(end_state or {}),
            evidence=tuple(evidence),
            hazards=tuple(hazards),
            deadlines=tuple(deadlines),
            budget=Budget(turns=limit, tool_calls=limit + 6),
        ),
        solution=calls,
        provenance=f"synthetic chart, family {draw.family}, seed {draw.seed}",
    )
    return Case(task, {chart.patient_id: chart for chart in sorted(charts, key=is_fetus)})


def no_finger_in_praevia(praevia: bool) -> tuple[Hazard, ...]:
    """Return the harm of a vaginal examination where the placenta covers the os; nothing where it does not."""
    label = "vaginal examination although the placenta covers the os"
    return (Hazard(tool="examine_cervix", severity="critical", label=label),) if praevia else ()


def done(*names: str) -> Any:
    """Return the rule for a list of drugs, measures or teams in the end state: exactly these; None for nothing."""
    return AnswerField(gold=tuple(names), compare="set") if names else None


def _wording(draw: Draw, values: Mapping[str, str]) -> tuple[str, str]:
    templates = table("prompts")[draw.family]
    number = int(draw.rng.integers(len(templates[draw.split])))
    words = table("answers").get(templates.get("words", ""), {})
    options = {kind: ", ".join(words[kind]) for kind in ("diagnosis", "plan") if kind in words}
    text = f"{templates[draw.split][number]} {templates['ask']}".format(**options, **values)
    return text, f"{draw.family}/{draw.split}/{number}"
