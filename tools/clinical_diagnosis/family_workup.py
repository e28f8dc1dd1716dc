"""Undifferentiated work-up: from opening words to diagnosis and first management."""

from healthgym.errors import TaskError
from healthgym.tasks import AnswerField, Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.tasks.task import Difficulty
from healthgym.world import Chart

from .cases import (
    MAX_DRAWS,
    by_split,
    icd10_field,
    in_turn,
    introduction,
    make_case,
    pick_difficulty,
    reticent,
    sample,
    wording,
)
from .oracle import decisive
from .tables import table

Workable = tuple[Chart, tuple[Evidence, ...], tuple[Call, ...]]


def workable(draw: Draw, condition: str, difficulty: Difficulty, patients: int = MAX_DRAWS) -> Workable:
    """Draw a patient whose findings point to the condition; reticent, and with an illness besides, when hard."""
    for attempt in range(patients):
        chart = sample(draw, condition)
        if difficulty == "hard":
            chart = reticent(chart)
            if not chart.comorbidities and attempt < patients // 2:
                continue
        found = decisive(chart)
        if found is not None:
            return chart, *found
    raise TaskError(f"family {draw.family}: no patient with {condition} shows a key finding in {patients} draws")


@task_family(counts={"train": 126, "val": 14, "test": 26, "test_ood": 16})
def workup(draw: Draw) -> Case:
    """Find out what a patient has; submit its code and what comes first."""
    difficulty = pick_difficulty(draw)
    chart, evidence, calls = workable(draw, in_turn(draw, by_split(tuple(table("work_up")), draw)), difficulty)
    row = table("work_up")[chart.condition]
    gold = icd10_field(chart.condition)
    return make_case(
        draw,
        chart,
        prompt=wording(draw, who=introduction(chart, difficulty)),
        difficulty=difficulty,
        answer={"icd10": gold, "first_management": AnswerField(gold=row["management"])},
        end_state={f"{chart.patient_id}.differential": {"contains": chart.condition}},
        evidence=evidence,
        solution=(
            Call("open_chart", patient_id=chart.patient_id),
            *calls,
            Call("record_differential", patient_id=chart.patient_id, conditions=[chart.condition]),
            Call("management_plan", condition=chart.condition),
            Call("submit_diagnosis", icd10=gold.gold, first_management=row["management"]),
        ),
    )
