"""A published instrument by interview: every item asked, the patient's words placed on its scale, total and category."""

from dataclasses import replace
from typing import Any

from healthgym.tasks import AnswerField, Call, Case, task_family
from healthgym.tasks.families import Draw

from ..scores.mood_disorder import mdq_is_positive
from .asking import interview
from .cases import by_split, dealt, make_case, person, pick, pick_difficulty, reticent, who, wording
from .instruments import CATEGORY, Instrument, instruments

HELD_OUT = ("epds", "dast10")
"""Instruments that appear in test_ood only."""
TOOL = {"mdq": "mdq", "cage": "cage"}
MDQ_PROBLEMS = ("none", "minor", "moderate", "serious")


@task_family(counts={"train": 63, "val": 7, "test": 14, "test_ood": 8})
def screening(draw: Draw) -> Case:
    """Interview a patient with a questionnaire; the prompt names it, the guide lists its items."""
    difficulty = pick_difficulty(draw)
    names = [name for name in by_split(draw, tuple(instruments()), HELD_OUT) if name != "mdq"]
    form = instruments()[dealt(draw, names)]
    scores = form.draw(draw.rng, pick(draw, form.bands))
    chart = person(draw, form.condition)
    chart = replace(chart, findings=form.findings(scores, draw.rng, veiled=difficulty != "easy"))
    if difficulty == "hard":
        held_back = [item.id for item in form.items if item.sensitive] or [form.items[-1].id]
        finding = chart.finding(pick(draw, held_back))
        assert finding is not None
        chart = reticent(chart, finding)
    evidence, questions = interview(chart, chart.findings)
    total, category = sum(scores), CATEGORY[form.id](sum(scores))
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
        },
        evidence=evidence,
        solution=(
            Call("instrument_guide", instrument=form.id),
            *questions,
            score_call(form, scores),
            Call("submit_assessment", item_scores=given, total=total, category=category),
        ),
    )


def score_call(form: Instrument, scores: tuple[int, ...]) -> Call:
    """Return the call of the instrument's own scoring tool."""
    if form.id == "cage":
        return Call("cage", **{item.id: bool(score) for item, score in zip(form.items, scores, strict=True)})
    if form.id == "dast10":  # the third answer is the reverse of its point
        return Call("dast10", answers=[bool(score) != (place == 2) for place, score in enumerate(scores)])
    arguments: dict[str, Any] = {"items": list(scores)}
    return Call(form.id, **arguments)


__all__ = ["HELD_OUT", "mdq_is_positive", "score_call", "screening"]
