"""Several patients at once: sorting a board, and reassessing those who wait."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from healthgym.errors import TaskError
from healthgym.knowledge_base import load
from healthgym.tasks import AnswerField, Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Chart, VitalSigns

from ..scores.emergency_severity import count_resources, esi_level
from .cases import LEVELS, MAX_DRAWS, OOD_CONDITIONS, introduction, make_case, pick, pick_difficulty, sample, wording
from .gold import triage_gold
from .oracle import decisive
from .reference import table

Patient = tuple[Chart, tuple[Evidence, ...], tuple[Call, ...]]
CHANGE_MINUTE, REASSESS_MINUTE = 28.0, 30.0


@lru_cache(maxsize=2)
def _candidates(held_out: bool) -> dict[int, tuple[tuple[str, str], ...]]:
    """Return (condition, severity) pairs by the level that typical vital signs of the profile give."""
    found: dict[int, list[tuple[str, str]]] = {level: [] for level in LEVELS}
    for condition in load().conditions.values():
        if not condition.at_triage or (condition.id in OOD_CONDITIONS) != held_out:
            continue
        for name, severity in condition.severities.items():
            typical = VitalSigns(gcs=severity.vitals.gcs, pain_0_10=severity.vitals.pain_0_10[0])
            level = esi_level(
                age_years=40,
                vital_signs=typical,
                needs_immediate_intervention=bool(severity.triage.immediate_interventions),
                is_high_risk=bool(severity.triage.high_risk),
                resources=count_resources(severity.triage.resources),
            )
            found[level].append((condition.id, name))
    return {level: tuple(pairs) for level, pairs in found.items()}


def _patient_of_level(draw: Draw, level: int, patient_id: str) -> Patient:
    pairs = _candidates(draw.split == "test_ood")[level]
    for _ in range(MAX_DRAWS):
        condition, severity = pick(draw, pairs)
        chart = sample(draw, condition, patient_id=patient_id, severity=severity)
        found = decisive(chart)
        if found is not None and triage_gold(chart).level == level:
            return chart, *found
    raise TaskError(f"family {draw.family}: no patient of level {level} in {MAX_DRAWS} draws")


def _distinct_levels(draw: Draw, count: int) -> list[int]:
    candidates = _candidates(draw.split == "test_ood")
    levels = [level for level in LEVELS if candidates[level]]
    return [int(level) for level in draw.rng.permutation(levels)[:count]]


def _priority(levels: Sequence[int]) -> list[str]:
    return [f"P{number + 1}" for number in sorted(range(len(levels)), key=lambda index: levels[index])]


@task_family(counts={"train": 50, "val": 8, "test": 20, "test_ood": 10})
def board_priority(draw: Draw) -> Case:
    """Two to four strangers of different urgency; see each, level each, put them in order."""
    difficulty = pick_difficulty(draw)
    levels = _distinct_levels(draw, {"easy": 2, "medium": 3, "hard": 4}[difficulty])
    patients = [_patient_of_level(draw, level, f"P{number + 1}") for number, level in enumerate(levels)]
    charts = [chart for chart, _, _ in patients]
    priority = _priority(levels)
    return make_case(
        draw,
        charts,
        prompt=wording(draw, count=len(charts), who=", ".join(introduction(chart, difficulty) for chart in charts)),
        difficulty=difficulty,
        answer={"priority": AnswerField(gold=priority)},
        end_state={f"{chart.patient_id}.esi_level": level for chart, level in zip(charts, levels, strict=True)},
        evidence=[item for _, evidence, _ in patients for item in evidence],
        solution=(
            *(call for _, _, calls in patients for call in calls),
            *(Call("assign_esi", patient_id=c.patient_id, level=lvl) for c, lvl in zip(charts, levels, strict=True)),
            Call("submit_triage", priority=priority),
        ),
        spare_calls=6,
    )


def _waiting(draw: Draw, patient_id: str, course: str) -> Patient:
    """Draw a patient whose vital signs at minute 28 are those of what the condition has become."""
    (condition, severity), (later, later_severity) = table("changes")[course]["from"], table("changes")[course]["to"]
    for _ in range(MAX_DRAWS):
        chart = sample(draw, condition, patient_id=patient_id, severity=severity)
        found = decisive(chart)
        if found is None or chart.age_years < 18:
            continue
        after = chart.vital_signs_at(0)
        if (condition, severity) != (later, later_severity):
            after = sample(draw, later, severity=later_severity).vital_signs_at(0)
        extra = {
            "reassess_from_minute": REASSESS_MINUTE,
            "later": {"minute": CHANGE_MINUTE, "condition": later, "severity": later_severity},
        }
        vital_signs = ((0.0, chart.vital_signs_at(0)), (CHANGE_MINUTE, after))
        return replace(chart, vital_signs=vital_signs, extra=extra), *found
    raise TaskError(f"family {draw.family}: no adult with {condition} in {MAX_DRAWS} draws")


def _courses(draw: Draw) -> list[str]:
    held_out = draw.split == "test_ood"
    return [name for name, row in table("changes").items() if (row["from"][0] in OOD_CONDITIONS) == held_out]


@task_family(counts={"train": 50, "val": 8, "test": 20, "test_ood": 10})
def reassessment(draw: Draw) -> Case:
    """Patients sent to wait, some of whom change: the level that counts is the last one."""
    difficulty = pick_difficulty(draw)
    count = 3 if difficulty == "hard" else 2
    for _ in range(MAX_DRAWS):
        courses = [pick(draw, _courses(draw)) for _ in range(count)]
        patients = [_waiting(draw, f"P{number + 1}", course) for number, course in enumerate(courses)]
        charts = [chart for chart, _, _ in patients]
        levels = [triage_gold(chart, REASSESS_MINUTE).level for chart in charts]
        if len(set(levels)) == count:
            break
    else:
        raise TaskError(f"family reassessment: no {count} patients of different level in {MAX_DRAWS} draws")
    priority = _priority(levels)
    reassessed = [Evidence(any_of=(f"{c.patient_id}.reassessed",), label="reassessment when due") for c in charts]
    return make_case(
        draw,
        charts,
        prompt=wording(draw, who=", ".join(introduction(chart, difficulty) for chart in charts)),
        difficulty=difficulty,
        answer={"priority": AnswerField(gold=priority)},
        end_state={f"{chart.patient_id}.esi_level": level for chart, level in zip(charts, levels, strict=True)},
        evidence=[*(item for _, evidence, _ in patients for item in evidence), *reassessed],
        solution=(
            *(call for _, _, calls in patients for call in calls),
            Call("wait", minutes=30),
            *(Call("reassess", patient_id=chart.patient_id) for chart in charts),
            *(Call("assign_esi", patient_id=c.patient_id, level=lvl) for c, lvl in zip(charts, levels, strict=True)),
            Call("submit_triage", priority=priority),
        ),
        spare_calls=6,
    )
