"""Questions on monographs: which drug is meant and its ceiling, which drugs have a property."""

from dataclasses import replace

from healthgym.errors import TaskError
from healthgym.knowledge_base.pharmacology import load_drugs
from healthgym.tasks import AnswerField, Call, Case, task_family
from healthgym.tasks.families import Draw

from .drawing import choose, difficulty_of, ranked
from .drug_facts import PROPERTIES, DrugFact, facts_about, kinship
from .finding import drug_fact
from .partition import asked_in, held_out
from .questions import Option, Question, make_case

FEWEST = 3
"""A property is asked about when at least so many drugs of the split have it, and as many lack it."""


@task_family(counts={"train": 38, "val": 4, "test": 8, "test_ood": 4})
def drug_identity(draw: Draw) -> Case:
    """Which of several kindred drugs a monograph's words belong to, and the most that may be given a day."""
    difficulty = difficulty_of(draw)
    size = {"easy": 5, "medium": 6, "hard": 8}[difficulty]
    pool = [
        drug.id
        for drug in load_drugs().values()
        if drug.max_daily_mg and held_out("drug", drug.id) is (draw.split == "test_ood")
    ]
    for seed in ranked(draw, pool):
        near = ranked(draw, {drug: kinship(seed, drug) ** 2 for drug in pool if drug != seed})
        group = _tellable(draw, [seed, *near[: 2 * size]])[:size]
        if len(group) < size:
            continue
        gold = choose(draw, list(group))
        fact = _telling(draw, gold, group)[0]
        return make_case(draw, _identity(draw, gold, group, fact))
    raise TaskError(f"drug_identity {draw.split} {draw.index}: no group of drugs can be told apart")


def _tellable(draw: Draw, drugs: list[str]) -> list[str]:
    """Return the drugs that keep a fact of their own as the group shrinks to those that have one."""
    kept = list(drugs)
    while True:
        left = [drug for drug in kept if _telling(draw, drug, kept)]
        if left == kept:
            return kept
        kept = left


def _telling(draw: Draw, drug: str, group: list[str]) -> list[DrugFact]:
    """Return the facts asked in this split that hold for one drug of the group alone, in random order."""
    others = {fact.text for other in group if other != drug for fact in facts_about(other)}
    own = {
        fact.text: fact
        for fact in facts_about(drug)
        if fact.text not in others and asked_in(draw.split, f"{drug}: {fact.text}", ("drug", drug))
    }
    return [own[text] for text in ranked(draw, list(own))]


def _identity(draw: Draw, gold: str, group: list[str], fact: DrugFact) -> Question:
    monograph = load_drugs()[gold]
    other = load_drugs()[choose(draw, [drug for drug in group if drug != gold])]
    most = monograph.max_daily_mg or 0.0
    return Question(
        names={"fact": fact.text},
        options=[Option(text=load_drugs()[drug].name, is_right=drug == gold) for drug in group],
        lookups=(
            replace(drug_fact(gold, fact.aspect, fact.passage_words), label="the monograph that says so"),
            replace(drug_fact(gold, "use_and_dose", "At most"), label="the daily maximum of that medicine"),
        ),
        difficulty=difficulty_of(draw),
        condition=gold,
        answer={
            "number": AnswerField(gold=most, compare="range", tolerance=0.01 * most),
            "unit": AnswerField(gold="mg", accept=("mg/day", "mg per day", "mg a day", "mg daily", "mg/d")),
        },
        working=(Call("compare_drugs", first=other.name, second=monograph.name, aspect=fact.aspect),),
        rules_out=(other.name, other.id, f"its monograph does not say: {fact.text}"[:200]),
    )


@task_family(counts={"train": 38, "val": 4, "test": 8, "test_ood": 4})
def drug_properties(draw: Draw) -> Case:
    """Which of several drugs have, or lack, a property that their monographs speak of."""
    difficulty = difficulty_of(draw)
    size = {"easy": 5, "medium": 6, "hard": 7}[difficulty]
    for name in ranked(draw, list(PROPERTIES)):
        wanted = PROPERTIES[name]
        pool = [
            drug.id
            for drug in load_drugs().values()
            if wanted.speaks(drug) and asked_in(draw.split, f"{name} of {drug.id}", ("drug", drug.id))
        ]
        holders = [drug for drug in pool if wanted.has(load_drugs()[drug])]
        if min(len(holders), len(pool) - len(holders)) < FEWEST:
            continue
        count = int(draw.rng.integers(max(1, size - len(pool) + len(holders)), min(len(holders), size - 1) + 1))
        having = ranked(draw, holders)[:count]
        likeness = {drug: max(kinship(drug, other) for other in having) for drug in pool if drug not in holders}
        lacking = ranked(draw, likeness)[: size - count]
        asks_holders = bool(draw.rng.integers(2))
        question = Question(
            names={"property": wanted.text if asks_holders else wanted.negative},
            options=[
                Option(text=load_drugs()[drug].name, is_right=(drug in having) is asks_holders)
                for drug in (*having, *lacking)
            ],
            takes_several=True,
            lookups=[drug_fact(drug, wanted.aspect) for drug in sorted((*having, *lacking))],
            difficulty=difficulty,
            condition=name,
        )
        return make_case(draw, question)
    raise TaskError(f"drug_properties {draw.split} {draw.index}: no property is spread widely enough")
