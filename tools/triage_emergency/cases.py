"""What every task family shares: conditions by split, difficulty, wording, and putting a Case together."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from healthgym.content import read_yaml
from healthgym.errors import TaskError
from healthgym.knowledge_base import load
from healthgym.knowledge_base.patients import sample_patient
from healthgym.tasks import AnswerField, Budget, Call, Case, Criteria, Evidence, Hazard, Task
from healthgym.tasks.families import Draw
from healthgym.tasks.task import DIFFICULTIES, Difficulty
from healthgym.world import Chart

from .assessment import age_text

OOD_CONDITIONS = frozenset(
    {
        "acute_heart_failure", "bacterial_meningitis", "contact_dermatitis", "croup", "ectopic_pregnancy", "otitis_media",
        "panic_attack", "pneumothorax_tension", "pulmonary_embolism", "testicular_torsion", "transient_ischaemic_attack",
        "tricyclic_overdose", "wrist_fracture",
    }
)  # fmt: skip
"""Conditions that appear in test_ood only."""
LEVELS = (1, 2, 3, 4, 5)
MAX_DRAWS = 400


def by_split(conditions: Sequence[str], draw: Draw) -> list[str]:
    """Return the conditions that this draw's split may use, in order."""
    held_out = draw.split == "test_ood"
    known = load().conditions
    chosen = [name for name in conditions if known[name].at_triage and (name in OOD_CONDITIONS) == held_out]
    if not chosen:
        raise TaskError(f"family {draw.family}: no condition for split {draw.split}")
    return chosen


def pick(draw: Draw, items: Sequence[Any]) -> Any:
    """Return one of `items`, uniformly."""
    return items[int(draw.rng.integers(len(items)))]


def pick_difficulty(draw: Draw) -> Difficulty:
    """Return easy, medium or hard with equal chance."""
    return DIFFICULTIES[int(draw.rng.integers(3))]


def sample(draw: Draw, condition: str, **options: Any) -> Chart:
    """Draw a patient; see `sample_patient`."""
    return sample_patient(draw.rng, condition, **options)


@lru_cache(maxsize=1)
def _prompts() -> Mapping[str, Mapping[str, Sequence[str]]]:
    return read_yaml(Path(__file__).parent / "prompts.yaml")


def wording(draw: Draw, **values: Any) -> tuple[str, str]:
    """Return a prompt of this family and split, filled in, and its template id."""
    templates = _prompts()[draw.family]
    number = int(draw.rng.integers(len(templates[draw.split])))
    text = templates[draw.split][number].format(**values)
    return f"{text} {templates['ask'][0].format(**values)}".strip(), f"{draw.family}/{draw.split}/{number}"


def introduction(chart: Chart, difficulty: Difficulty) -> str:
    """Return how a patient is announced: with opening words when easy, otherwise by id alone."""
    if difficulty == "easy":
        return f'{chart.patient_id} ({age_text(chart.age_years)} {chart.sex}: "{chart.chief_complaint}")'
    return chart.patient_id


def esi_field(level: int) -> AnswerField:
    """Return the gold for an ESI level; one level away earns a quarter."""
    return AnswerField(gold=level, compare="ordinal", scale=LEVELS, adjacent_credit=0.25)


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
    tools: tuple[str, ...] = (),
    spare_calls: int = 5,
    condition: str = "",
) -> Case:
    """Put a Case together; the budget is the solution's length and `spare_calls` more."""
    calls = len(solution) + spare_calls
    task = Task(
        id=draw.task_id,
        domain=draw.domain,
        split=draw.split,
        family=draw.family,
        seed=draw.seed,
        prompt=prompt[0],
        template=prompt[1],
        difficulty=difficulty,
        condition=condition or charts[0].condition,
        tools=tools,
        criteria=Criteria(
            answer=dict(answer),
            end_state=dict(end_state or {}),
            evidence=tuple(evidence),
            hazards=tuple(hazards),
            budget=Budget(turns=calls, tool_calls=calls),
        ),
        solution=tuple(solution),
        provenance=f"synthetic charts from condition profiles, family {draw.family}, seed {draw.seed}",
    )
    return Case(task, {chart.patient_id: chart for chart in charts})
