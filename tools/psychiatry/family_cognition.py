"""A cognitive screen by domains: give the tasks, add up, place the total."""

from collections.abc import Mapping
from dataclasses import replace

from healthgym.tasks import AnswerField, Call, Case, Evidence, task_family
from healthgym.tasks.families import Draw
from healthgym.world import Finding

from ..scores import mini_mental, moca
from .asking import ask_calls, told
from .cases import dealt, make_case, person, pick, pick_difficulty, reticent, who, wording

BANDS = {
    "moca": {"normal": (26, 30), "mild": (18, 25), "moderate": (10, 17), "severe": (3, 9)},
    "mini_mental": {"normal": (24, 30), "mild": (18, 23), "severe": (5, 17)},
}


def deal_points(draw: Draw, maxima: Mapping[str, int], total: int) -> dict[str, int]:
    """Return points by domain that add up to `total`, lost at random."""
    points = dict(maxima)
    for _ in range(sum(maxima.values()) - total):
        left = [name for name, value in points.items() if value]
        points[pick(draw, left)] -= 1
    return points


@task_family(counts={"train": 49, "val": 6, "test": 10, "test_ood": 6})
def cognitive_screen(draw: Draw) -> Case:
    """A Montreal-type screen, whose total depends on schooling; test_ood has the mini-mental state."""
    difficulty = pick_difficulty(draw)
    test = "mini_mental" if draw.split == "test_ood" else "moca"
    maxima = mini_mental.MAXIMA if test == "mini_mental" else moca.MAXIMA
    low, high = BANDS[test][dealt(draw, tuple(BANDS[test]))]
    total = int(draw.rng.integers(low, high + 1))
    years = int(pick(draw, (6, 8, 10, 12, 13, 15, 17)))
    extra_point = test == "moca" and years <= 12 and total > low
    points = deal_points(draw, maxima, total - extra_point)
    if test == "moca":
        total = moca.moca_total(sum(points.values()), years)
    category = moca.moca_band(total) if test == "moca" else mini_mental.mini_mental_band(total)
    chart = person(draw, "alzheimer_dementia")
    school = Finding(
        id="education",
        reveal="ask",
        present=True,
        text="years of education",
        lay=f"I went to school for {years} years in all."
        if difficulty == "easy"
        else f"I left school and training at {years + 6}; I started at six.",
        topics=("school", "education", "schooling", "training"),
    )
    cognition = {test: {name: (points[name], most) for name, most in maxima.items()}}
    chart = replace(chart, findings=(school,), extra={"cognition": cognition})
    if difficulty == "hard":
        chart = reticent(chart, school)
    arguments: dict[str, int] = dict(points)
    questions, asked = [], []
    if test == "moca":
        questions, asked = list(ask_calls(chart, "education")), [told(chart, "education")]
        arguments["education_years"] = years
    return make_case(
        draw,
        [chart],
        prompt=wording(draw, who=who(chart), test=test.replace("_", "-").replace("moca", "Montreal-type (moca)")),
        difficulty=difficulty,
        answer={"total": AnswerField(gold=total, weight=2.0), "category": AnswerField(gold=category)},
        evidence=(*(Evidence(any_of=(f"P1.cognition.{name}",), label=name) for name in maxima), *asked),
        solution=(
            *(Call("cognitive_tasks", patient_id="P1", test=test, domain=name) for name in maxima),
            *questions,
            Call(test, **arguments),
            Call("submit_assessment", total=total, category=category),
        ),
    )
