"""What the families share: difficulty, wording, people, and putting a Case together."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from healthgym.knowledge_base.patients import sample_patient
from healthgym.tasks import AnswerField, Budget, Call, Case, Criteria, Deadline, Evidence, Hazard, Order, Task
from healthgym.tasks.families import Draw
from healthgym.tasks.task import Difficulty
from healthgym.world import Chart, Finding, Persona

from .tables import table

DIFFICULTIES: tuple[Difficulty, ...] = ("easy", "medium", "hard")
CALLS_PER_TURN = 4
"""How many calls of a long interview an oracle puts into one turn."""


def pick(draw: Draw, items: Sequence[Any]) -> Any:
    """Return one of `items`, uniformly."""
    return items[int(draw.rng.integers(len(items)))]


def chance(draw: Draw, share: float) -> bool:
    """Return True with this probability."""
    return bool(draw.rng.random() < share)


def pick_difficulty(draw: Draw) -> Difficulty:
    """Return easy, medium or hard with equal chance."""
    return DIFFICULTIES[int(draw.rng.integers(3))]


def dealt(draw: Draw, options: Sequence[Any]) -> Any:
    """Return the options in turn by the case's number, so that no answer is common."""
    return options[draw.index % len(options)]


def by_split(draw: Draw, names: Sequence[str], held_out: Sequence[str]) -> list[str]:
    """Return what this split may use: held-out names in test_ood alone."""
    return [name for name in names if (name in held_out) == (draw.split == "test_ood")]


def person(draw: Draw, condition: str, **options: Any) -> Chart:
    """Draw a patient of a condition profile who speaks for himself or herself; findings are the family's to give."""
    options.setdefault("persona", Persona(style=pick(draw, ("plain", "plain", "terse", "chatty"))))
    return sample_patient(draw.rng, condition, **options)


def reticent(chart: Chart, finding: Finding) -> Chart:
    """Return the chart with a patient who tells this finding only when asked a second time."""
    return replace(chart, persona=replace(chart.persona, reticent_topics=finding.topics))


def who(chart: Chart) -> str:
    """Return a patient in a few words: id, age, sex."""
    return f"{chart.patient_id} ({int(chart.age_years)} y, {chart.sex})"


def wording(draw: Draw, **values: Any) -> tuple[str, str]:
    """Return a prompt of this family and split, filled in, and its template id."""
    templates = table("prompts")[draw.family]
    number = int(draw.rng.integers(len(templates[draw.split])))
    text = templates[draw.split][number].format(**values)
    return f"{text} {templates['ask'].format(**values)}".strip(), f"{draw.family}/{draw.split}/{number}"


def make_case(
    draw: Draw,
    charts: Sequence[Chart],
    *,
    prompt: tuple[str, str],
    difficulty: Difficulty,
    answer: Mapping[str, AnswerField],
    evidence: Sequence[Evidence],
    solution: Sequence[Call],
    end_state: Mapping[str, Any] | None = None,
    hazards: Sequence[Hazard] = (),
    deadlines: Sequence[Deadline] = (),
    order: Sequence[Order] = (),
    spare_turns: int = 6,
) -> Case:
    """Put a Case together; interviews go four questions a turn, and the budget leaves room for as much again."""
    sizes = _turns(solution)
    task = Task(
        id=draw.task_id,
        domain=draw.domain,
        split=draw.split,
        family=draw.family,
        seed=draw.seed,
        prompt=prompt[0],
        template=prompt[1],
        difficulty=difficulty,
        condition=charts[0].condition,
        criteria=Criteria(
            answer=dict(answer),
            end_state=dict(end_state or {}),
            evidence=tuple(evidence),
            hazards=tuple(hazards),
            deadlines=tuple(deadlines),
            order=tuple(order),
            budget=Budget(turns=len(solution) + spare_turns, tool_calls=2 * len(solution) + 10),
        ),
        solution=tuple(solution),
        solution_turns=sizes,
        provenance=f"synthetic charts from condition profiles, family {draw.family}, seed {draw.seed}",
    )
    return Case(task, {chart.patient_id: chart for chart in charts})


def _turns(solution: Sequence[Call]) -> tuple[int, ...]:
    """Return the sizes of the oracle's turns: questions by fours, everything else alone."""
    sizes: list[int] = []
    asking = False
    for call in solution:
        is_question = call.tool == "ask_patient"
        if is_question and asking and sizes[-1] < CALLS_PER_TURN:
            sizes[-1] += 1
        else:
            sizes.append(1)
        asking = is_question
    return tuple(sizes)
