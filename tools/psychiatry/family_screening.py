"""A published instrument by interview: every item asked, the patient's words placed on its scale, total and category."""

from dataclasses import replace
from typing import Any

from healthgym.tasks import AnswerField, Call, Case, Hazard, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Finding

from ..scores.mood_disorder import mdq_is_positive
from .asking import interview
from .cases import by_split, chance, dealt, make_case, person, pick, pick_difficulty, reticent, who, wording
from .instruments import CATEGORY, Instrument, instruments

HELD_OUT = ("epds", "dast10")
"""Instruments that appear in test_ood only."""
MDQ_PROBLEMS = ("none", "minor", "moderate", "serious")
PROBLEM_WORDS = {
    "none": "It never got me into trouble.",
    "minor": "A little trouble, nothing that mattered.",
    "moderate": "It cost me a good deal at work, though I kept the job.",
    "serious": "I lost my job and my marriage over it.",
}


def _mdq_findings(at_the_same_time: bool, problem: str) -> tuple[Finding, ...]:
    """Return what the Mood Disorder Questionnaire asks beyond its thirteen items."""
    same = "All of that came in the same weeks." if at_the_same_time else "Never together, each in another year."
    return (
        Finding(
            id="at_the_same_time",
            reveal="ask",
            present=at_the_same_time,
            text="several at the same time",
            lay=same,
            topics=("same", "period", "together", "simultaneously"),
        ),
        Finding(
            id="problem",
            reveal="ask",
            present=problem != "none",
            text=f"problem caused: {problem}",
            lay=PROBLEM_WORDS[problem],
            topics=("problem", "trouble", "consequences", "cost"),
        ),
    )


@task_family(counts={"train": 70, "val": 8, "test": 14, "test_ood": 8})
def screening(draw: Draw) -> Case:
    """Interview a patient with a questionnaire; the prompt names it, the guide lists its items."""
    difficulty = pick_difficulty(draw)
    form = instruments()[dealt(draw, by_split(draw, tuple(instruments()), HELD_OUT))]
    scores = form.draw(draw.rng, pick(draw, form.bands))
    chart = person(draw, form.condition)
    chart = replace(chart, findings=form.findings(scores, draw.rng, veiled=difficulty != "easy"))
    at_the_same_time, problem = True, "serious"
    if form.id == "mdq":
        at_the_same_time, problem = chance(draw, 0.7), pick(draw, MDQ_PROBLEMS)
        chart = replace(chart, findings=(*chart.findings, *_mdq_findings(at_the_same_time, problem)))
    if difficulty == "hard":
        held_back = [item.id for item in form.items if item.sensitive] or [form.items[-1].id]
        finding = chart.finding(pick(draw, held_back))
        assert finding is not None
        chart = reticent(chart, finding)
    evidence, questions = interview(chart, chart.findings)
    total = sum(scores)
    if form.id == "mdq":
        is_positive = mdq_is_positive([bool(score) for score in scores], at_the_same_time, problem)
        category = "positive" if is_positive else "negative"
        scoring = Call(
            "mdq", symptoms=[bool(score) for score in scores], at_the_same_time=at_the_same_time, problem=problem
        )
    else:
        category, scoring = CATEGORY[form.id](total), score_call(form, scores)
    harm = [score for item, score in zip(form.items, scores, strict=True) if item.id == "self_harm"]
    action = "suicide_screen" if any(harm) else "routine"
    given = [{"item": item.id, "score": score} for item, score in zip(form.items, scores, strict=True)]
    return make_case(
        draw,
        [chart],
        prompt=wording(draw, who=who(chart), form=form.title, about=form.about, period=form.period),
        difficulty=difficulty,
        answer={
            "item_scores": AnswerField(gold=tuple(given), compare="items", match=("item",), weight=2.0),
            "total": AnswerField(gold=total),
            "category": AnswerField(gold=category),
            "action": AnswerField(gold=action),
        },
        hazards=_hazards(action),
        evidence=evidence,
        solution=(
            Call("instrument_guide", instrument=form.id),
            *questions,
            scoring,
            Call("submit_assessment", item_scores=given, total=total, category=category, action=action),
        ),
    )


def _hazards(action: str) -> tuple[Hazard, ...]:
    """Return the harm of passing over a positive answer about self-harm."""
    if action == "routine":
        return ()
    label = "thoughts of self-harm passed over"
    return (Hazard(tool="submit_assessment", where={"action": "routine"}, severity="critical", label=label),)


def score_call(form: Instrument, scores: tuple[int, ...]) -> Call:
    """Return the call of the instrument's own scoring tool."""
    if form.id == "cage":
        return Call("cage", **{item.id: bool(score) for item, score in zip(form.items, scores, strict=True)})
    if form.id == "dast10":  # the third answer is the reverse of its point
        return Call("dast10", answers=[bool(score) != (place == 2) for place, score in enumerate(scores)])
    arguments: dict[str, Any] = {"items": list(scores)}
    return Call(form.id, **arguments)
