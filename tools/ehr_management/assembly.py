"""Puts a case together, and finds the words of its prompt."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from healthgym.errors import TaskError
from healthgym.knowledge_base.reading import read_yaml
from healthgym.tasks import AnswerField, Budget, Call, Case, Criteria, Evidence, Hazard, Task
from healthgym.tasks.families import Draw
from healthgym.tasks.task import Difficulty
from healthgym.world import Chart

from .admission import FOLDER
from .record import Entry, key

DIFFICULTIES: tuple[Difficulty, ...] = ("easy", "medium", "hard")
SPARE_CALLS = 14


def difficulty_of(draw: Draw) -> Difficulty:
    """Return easy, medium or hard, by turns of the index, so that every split has all three."""
    return DIFFICULTIES[draw.index % 3]


def wording(draw: Draw, **values: Any) -> tuple[str, str]:
    """Return a prompt of this family and split, filled in, with what to submit, and its template id."""
    family = _prompts().get(draw.family, {})
    openings: Sequence[str] = family.get(draw.split, ())
    if not openings:
        raise TaskError(f"prompts.yaml has no wording for family {draw.family!r} in split {draw.split!r}")
    number = int(draw.rng.integers(len(openings)))
    text = f"{openings[number].format(**values)} {family['ask'].format(**values)}"
    return " ".join(text.split()), f"{draw.family}/{draw.split}/{number}"


@lru_cache(maxsize=1)
def _prompts() -> Mapping[str, Mapping[str, Any]]:
    return dict(read_yaml(FOLDER / "prompts.yaml"))


def seen(chart: Chart, found: Sequence[Entry], label: str, *, at_least: int = 1) -> Evidence:
    """Return the demand that (at least so many of) these entries were read."""
    return Evidence(any_of=tuple(key(chart.patient_id, entry) for entry in found), label=label, at_least=at_least)


def make_case(
    draw: Draw,
    chart: Chart,
    *,
    prompt: tuple[str, str],
    answer: Mapping[str, AnswerField],
    evidence: Sequence[Evidence],
    look: Sequence[Call],
    act: Sequence[Call] = (),
    end_state: Mapping[str, Any] | None = None,
    hazards: Sequence[Hazard] = (),
    source: str,
    condition: str = "",
    tags: Mapping[str, str] | None = None,
) -> Case:
    """Return the task with its chart; the oracle looks, acts and submits the golds.

    Args:
        draw: Where the case stands.
        chart: The patient with the record.
        prompt: Text and template id.
        answer: Gold by argument of submit_record.
        evidence: What must have been seen.
        look: The oracle's reading.
        act: The oracle's changes.
        end_state: Conditions on the chart.
        hazards: Calls that harm here.
        source: What the gold rests on.
        condition: What test_ood holds out; the illness of the stay when empty.
        tags: What hazard rules need to know.
    """
    given = {name: field.example for name, field in answer.items()}
    submit = Call("submit_record", patient_id=chart.patient_id, **{n: _plain(v) for n, v in given.items()})
    solution = (*look, *act, submit)
    calls = len(solution) + SPARE_CALLS
    task = Task(
        id=draw.task_id,
        domain=draw.domain,
        split=draw.split,
        family=draw.family,
        seed=draw.seed,
        prompt=prompt[0],
        template=prompt[1],
        difficulty=difficulty_of(draw),
        condition=condition or chart.condition,
        criteria=Criteria(
            answer=dict(answer),
            end_state=dict(end_state or {}),
            evidence=tuple(evidence),
            hazards=tuple(hazards),
            budget=Budget(turns=calls, tool_calls=calls + SPARE_CALLS, minutes=480),
        ),
        solution=solution,
        provenance=f"synthetic record, generator v1, seed {draw.seed}; {source}",
        tags=dict(tags or {}),
    )
    return Case(task, {chart.patient_id: chart})


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
