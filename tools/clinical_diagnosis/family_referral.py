"""Referral: to whom, and how fast; or nobody."""

from typing import Any

from healthgym.tasks import Call, Case, task_family
from healthgym.tasks.families import Draw

from .cases import by_split, icd10_field, in_turn, introduction, make_case, pick_difficulty, wording
from .family_workup import workable
from .tables import table


@task_family(counts={"train": 70, "val": 8, "test": 14, "test_ood": 8})
def referral(draw: Draw) -> Case:
    """Work a patient up and refer as fast as the guideline asks; some need no referral."""
    difficulty = pick_difficulty(draw)
    chart, evidence, calls = workable(draw, in_turn(draw, by_split(tuple(table("referrals")), draw)), difficulty)
    pid, row = chart.patient_id, table("referrals")[chart.condition]
    nobody = row["service"] == "none"
    end_state: dict[str, Any] = {
        f"{pid}.referred_to": None if nobody else row["service"],
        f"{pid}.referral_urgency": None if nobody else row["urgency"],
    }
    refer = () if nobody else (Call("refer", patient_id=pid, service=row["service"], urgency=row["urgency"]),)
    gold = icd10_field(chart.condition)
    return make_case(
        draw,
        chart,
        prompt=wording(draw, who=introduction(chart, difficulty)),
        difficulty=difficulty,
        answer={"icd10": gold},
        end_state=end_state,
        evidence=evidence,
        solution=(
            Call("open_chart", patient_id=pid),
            *calls,
            Call("referral_guide", condition=chart.condition),
            *refer,
            Call("submit_diagnosis", icd10=gold.gold),
        ),
    )
