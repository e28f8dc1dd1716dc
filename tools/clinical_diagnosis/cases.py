"""What every task family shares: conditions by split, difficulty, wording, fuller charts, and putting a Case together."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from healthgym.errors import TaskError
from healthgym.knowledge_base import load
from healthgym.knowledge_base.patients import sample_patient
from healthgym.tasks import AnswerField, Budget, Call, Case, Criteria, Evidence, Hazard, Task
from healthgym.tasks.families import Draw
from healthgym.tasks.task import DIFFICULTIES, Difficulty
from healthgym.world import Chart, Finding, LabResult

from .chart_tools import age_text
from .tables import prompts, table

MAX_DRAWS = 60
ROUTINE_QUESTIONS = (
    "fever",
    "chest_pain",
    "breathlessness",
    "cough",
    "abdominal_pain",
    "vomiting",
    "diarrhoea",
    "headache",
    "palpitations",
)
ROUTINE_SIGNS = (
    "pale_clammy",
    "irregular_pulse",
    "crackles_both_bases",
    "neck_stiff",
    "rigid_abdomen",
    "petechial_rash",
    "calf_circumference",
)
"""What everybody is asked and examined for: negative where the illness says nothing of it."""


def held_out() -> frozenset[str]:
    """Return the conditions that appear in test_ood only."""
    return frozenset(table("held_out"))


def by_split(names: Sequence[str], draw: Draw) -> list[str]:
    """Return the conditions that this draw's split may use, in order."""
    chosen = [name for name in names if (name in held_out()) == (draw.split == "test_ood")]
    if not chosen:
        raise TaskError(f"family {draw.family}: no condition for split {draw.split}")
    return chosen


def pick(draw: Draw, items: Sequence[Any]) -> Any:
    """Return one of `items`, uniformly."""
    return items[int(draw.rng.integers(len(items)))]


def in_turn(draw: Draw, items: Sequence[Any]) -> Any:
    """Return one of `items` in turn of the draw's index, so that a family uses all of them alike."""
    return items[draw.index % len(items)]


def pick_difficulty(draw: Draw) -> Difficulty:
    """Return easy, medium or hard with equal chance."""
    return DIFFICULTIES[int(draw.rng.integers(3))]


def sample(draw: Draw, condition: str, **options: Any) -> Chart:
    """Draw a patient of a condition, with the negatives of a routine history and examination added."""
    return with_negatives(sample_patient(draw.rng, condition, **options))


def with_negatives(chart: Chart) -> Chart:
    """Return the chart with routine questions and signs that its illness leaves open, all negative."""
    kb, known = load(), {finding.id for finding in chart.findings}
    own_words = chart.persona.informant == "patient"
    pronouns = {"he": "she", "He": "She", "his": "her", "His": "Her", "him": "her", "himself": "herself"}
    spoken = pronouns if chart.sex == "female" else {name: name for name in pronouns}
    added = []
    for name in ROUTINE_QUESTIONS:
        if name not in known:
            symptom = kb.symptoms[name]
            lay = symptom.absent if own_words else symptom.other_absent.format_map(spoken)
            added.append(
                Finding(id=name, reveal="ask", present=False, text=f"no {symptom.text}", lay=lay, topics=symptom.topics)
            )
    for name in ROUTINE_SIGNS:
        if name not in known:
            sign = kb.signs[name]
            added.append(Finding(id=name, reveal="examine", present=False, text=sign.absent, system=sign.system))
    return replace(chart, findings=(*chart.findings, *added))


def reticent(chart: Chart) -> Chart:
    """Return the chart with a patient who tells the first key symptom only when asked again."""
    names = load().condition(chart.condition).key_findings
    key = next((f for f in map(chart.finding, names) if f is not None and f.reveal == "ask" and f.present), None)
    if key is None or chart.persona.informant != "patient":
        return chart
    return replace(chart, persona=replace(chart.persona, reticent_topics=key.topics[:1]))


def with_labs(chart: Chart, values: Mapping[str, float]) -> Chart:
    """Return the chart with these laboratory results, rounded as the laboratory prints them."""
    kb = load()
    changed = {
        name: LabResult(analyte=name, value=round(value, kb.analytes[name].decimals), unit=kb.analytes[name].unit)
        for name, value in values.items()
    }
    return replace(chart, lab_results={**chart.lab_results, **changed})


def wording(draw: Draw, **values: Any) -> tuple[str, str]:
    """Return a prompt of this family and split, filled in, and its template id."""
    templates = prompts()[draw.family]
    number = int(draw.rng.integers(len(templates[draw.split])))
    text = templates[draw.split][number].format(**values)
    return f"{text} {templates['ask'][0].format(**values)}".strip(), f"{draw.family}/{draw.split}/{number}"


def introduction(chart: Chart, difficulty: Difficulty) -> str:
    """Return how a patient is announced: with opening words when easy, otherwise by id alone."""
    if difficulty == "easy":
        return f'{chart.patient_id} ({age_text(chart.age_years)}, {chart.sex}: "{chart.chief_complaint}")'
    return chart.patient_id


@lru_cache(maxsize=1)
def _codes() -> tuple[str, ...]:
    return tuple(condition.icd10.replace(".", "") for condition in load().conditions.values())


def icd10_field(condition: str) -> AnswerField:
    """Return the gold for a diagnosis: as many characters count, from three on, as tell it from every other condition."""
    code = load().condition(condition).icd10
    plain = code.replace(".", "")
    prefix = next(n for n in range(3, len(plain) + 1) if sum(other[:n] == plain[:n] for other in _codes()) == 1)
    return AnswerField(gold=code, compare="code", prefix=prefix)


def make_case(
    draw: Draw,
    chart: Chart,
    *,
    prompt: tuple[str, str],
    difficulty: Difficulty,
    answer: Mapping[str, AnswerField],
    evidence: Sequence[Evidence],
    solution: Sequence[Call],
    end_state: Mapping[str, Any] | None = None,
    hazards: Sequence[Hazard] = (),
    spare_calls: int = 8,
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
        condition=condition or chart.condition,
        criteria=Criteria(
            answer=dict(answer),
            end_state=dict(end_state or {}),
            evidence=tuple(evidence),
            hazards=tuple(hazards),
            budget=Budget(turns=calls, tool_calls=calls, minutes=720),
        ),
        solution=tuple(solution),
        provenance=f"synthetic chart from a condition profile, family {draw.family}, seed {draw.seed}",
    )
    return Case(task, {chart.patient_id: chart})
