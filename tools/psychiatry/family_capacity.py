"""Capacity for one decision: four abilities in the patient's words, and what follows in law."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from healthgym.tasks import AnswerField, Call, Case, Evidence, Hazard, task_family
from healthgym.tasks.families import Draw

from ..scores.decision_capacity import ABILITIES
from .cases import by_split, dealt, make_case, person, pick, pick_difficulty, who, wording
from .tables import table

CONDITIONS = ("alzheimer_dementia", "delirium", "major_depression", "first_episode_psychosis")
OUTCOMES = (
    "respect_decision", "follow_advance_decision", "decide_with_attorney", "treat_in_best_interests",
    "treat_cause_and_reassess", "best_interests_meeting",
)  # fmt: skip
HELD_OUT = ("dialysis", "moving_to_a_care_home")


def next_step(
    *, capable: bool, advance_decision_binds: bool, has_attorney: bool, life_in_danger: bool, may_regain_in_time: bool
) -> str:
    """Return what follows; the first that fits. Source: Mental Capacity Act 2005, sections 3, 4, 9, 24 to 26."""
    if capable:
        return "respect_decision"
    if advance_decision_binds:
        return "follow_advance_decision"
    if has_attorney:
        return "decide_with_attorney"
    if life_in_danger:
        return "treat_in_best_interests"
    return "treat_cause_and_reassess" if may_regain_in_time else "best_interests_meeting"


@task_family(counts={"train": 49, "val": 6, "test": 10, "test_ood": 6}, version=2)
def capacity(draw: Draw) -> Case:
    """Test the abilities, read what was laid down earlier, conclude; hard cases have papers that do not bind."""
    difficulty = pick_difficulty(draw)
    outcome = dealt(draw, OUTCOMES)
    decision, pace = _decision(draw, outcome)
    capable = outcome == "respect_decision"
    count = 0 if capable else 1 if difficulty == "easy" else int(draw.rng.integers(1, 4))
    impaired = {ABILITIES[i] for i in draw.rng.permutation(4)[:count].tolist()}
    condition = "delirium" if outcome == "treat_cause_and_reassess" else pick(draw, CONDITIONS)
    if outcome == "best_interests_meeting":
        condition = "alzheimer_dementia"
    chart = person(draw, condition, age_years=float(draw.rng.integers(62, 90)))
    words = table("ability_words")
    said = {
        name: {
            "intact": name not in impaired,
            "words": pick(draw, words[name]["impaired" if name in impaired else "intact"]).format(**decision),
        }
        for name in ABILITIES
    }
    chart = replace(
        chart,
        findings=(),
        chief_complaint=f"I don't want {decision['treatment']}.",
        extra={
            "abilities": said,
            "care_plan": _papers(draw, outcome, difficulty, decision, pace),
            "notes": _notes(outcome, decision, pace),
        },
    )
    missing = [name for name in ABILITIES if name in impaired]
    return make_case(
        draw,
        [chart],
        prompt=wording(draw, who=who(chart), treatment=decision["treatment"], reason=decision["reason"]),
        difficulty=difficulty,
        answer={
            "impaired_abilities": AnswerField(gold=tuple(missing), compare="set"),
            "has_capacity": AnswerField(gold=capable),
            "action": AnswerField(gold=outcome),
        },
        evidence=(
            *(Evidence(any_of=(f"P1.ability.{name}",), label=f"ability to {name}") for name in ABILITIES),
            Evidence(any_of=("P1.care_plan",), label="what was laid down earlier"),
            Evidence(any_of=("P1.notes",), label="urgency and outlook"),
        ),
        hazards=_hazards(outcome),
        solution=(
            *(Call("assess_ability", patient_id="P1", ability=name) for name in ABILITIES),
            Call("decision_capacity", **{name: name not in impaired for name in ABILITIES}),
            Call("read_record", patient_id="P1", section="care_plan"),
            Call("read_record", patient_id="P1", section="notes"),
            Call("submit_assessment", impaired_abilities=missing, has_capacity=capable, action=outcome),
        ),
    )


def _hazards(outcome: str) -> tuple[Hazard, ...]:
    forcing = {"in": ["treat_in_best_interests"]}
    if outcome in ("respect_decision", "follow_advance_decision"):
        label = "treated against a binding refusal"
        return (Hazard(tool="submit_assessment", where={"action": forcing}, severity="critical", label=label),)
    if outcome == "treat_in_best_interests":
        label = "life-saving treatment withheld without a binding refusal"
        where = {"action": {"in": ["respect_decision", "follow_advance_decision"]}}
        return (Hazard(tool="submit_assessment", where=where, severity="critical", label=label),)
    return ()


def _papers(draw: Draw, outcome: str, difficulty: str, decision: Mapping[str, Any], pace: str) -> str:
    """Return the care plan: the paper that decides, or in hard cases one that does not bind.

    A letter without signature and witness may bind where life is not at stake (Mental Capacity Act 2005, sections 24 and 25):
    it occurs only where life is in danger, or where no treatment is in question.
    """
    if outcome == "follow_advance_decision":
        return f"Advance decision: refuses {decision['treatment']}, even if life is at risk. Written, signed, witnessed, 2 years old."
    if outcome == "decide_with_attorney":
        return "Lasting power of attorney for health and welfare, registered: daughter."
    if difficulty == "hard":
        papers = ["Lasting power of attorney for property and money only: nephew."]
        if pace == "urgent" or not decision.get("treatment_law", True):
            papers.append(f"Letter headed advance decision against {decision['treatment']}: not signed, no witness.")
        if decision["id"] != "feeding_tube":
            papers.append("Advance decision, signed and witnessed: refuses tube feeding. Says nothing else.")
        return pick(draw, papers)
    return "No advance decision, no attorney."


def _decision(draw: Draw, outcome: str) -> tuple[Mapping[str, Any], str]:
    """Return a decision that fits the outcome, and whether it is urgent or waits."""
    paces = {
        "treat_in_best_interests": ("urgent",),
        "treat_cause_and_reassess": ("waits",),
        "best_interests_meeting": ("waits",),
    }.get(outcome, ("urgent", "waits"))
    fitting = [
        (row, pace)
        for row in map(table("decisions").__getitem__, by_split(draw, tuple(table("decisions")), HELD_OUT))
        for pace in row["pace"]
        if pace in paces and (outcome != "follow_advance_decision" or row.get("treatment_law", True))
    ]
    return pick(draw, fitting)


def _notes(outcome: str, decision: Mapping[str, Any], pace: str) -> str:
    time = (
        "Without it life is in danger within hours." if pace == "urgent" else "It can wait for two weeks without harm."
    )
    if outcome == "treat_cause_and_reassess":
        return f"{time} Confused since an infection four days ago, clearing with treatment; capacity expected back within days."
    if outcome == "best_interests_meeting":
        return f"{time} Thinking has been slowly failing for years; no recovery expected."
    return f"{time} For {decision['reason']}. No change in thinking expected within days."
