"""Questions on pairs of drugs: who must not be combined with a drug, and what a pair does."""

import re
from collections import defaultdict
from functools import lru_cache

from healthgym.errors import TaskError
from healthgym.knowledge_base.pharmacology import (
    SEVERITIES,
    Interaction,
    interaction_between,
    load_drugs,
    load_interactions,
)
from healthgym.tasks import AnswerField, Case, task_family
from healthgym.tasks.families import Draw
from healthgym.tasks.task import Split

from .drawing import choose, difficulty_of, ranked
from .drug_facts import kinship
from .finding import by_search, pair_fact, pair_key
from .partition import asked_in, may_name
from .questions import Lookup, Option, Question, make_case

GRAVE = SEVERITIES.index("major")
_WORD = re.compile(r"[a-z]{5,}")


@task_family(counts={"train": 38, "val": 4, "test": 8, "test_ood": 4})
def interaction_partners(draw: Draw) -> Case:
    """Which of several drugs interact gravely with one drug, or do not."""
    difficulty = difficulty_of(draw)
    size = {"easy": 5, "medium": 5, "hard": 6}[difficulty]
    subjects = [drug for drug in load_drugs() if asked_in(draw.split, f"partners of {drug}", ("drug", drug))]
    for subject in ranked(draw, subjects):
        others = [drug for drug in load_drugs() if drug != subject and may_name(draw.split, "drug", drug)]
        rank = {drug: _rank(subject, drug) for drug in others}
        grave = ranked(draw, [drug for drug in others if rank[drug] >= GRAVE])
        count = int(draw.rng.integers(2, size - 1))
        if len(grave) < count:
            continue
        grave = grave[:count]
        highest = GRAVE - 1 if difficulty == "hard" else -1
        likeness = {
            drug: max(kinship(drug, other) for other in grave) * (4.0 if rank[drug] >= 0 else 1.0)
            for drug in others
            if rank[drug] <= highest
        }
        harmless = ranked(draw, likeness)[: size - count]
        asks_grave = bool(draw.rng.integers(2))
        question = Question(
            names={"drug": load_drugs()[subject].name},
            options=[
                Option(text=load_drugs()[drug].name, is_right=(drug in grave) is asks_grave)
                for drug in (*grave, *harmless)
            ],
            takes_several=True,
            lookups=[pair_fact(subject, drug) for drug in sorted((*grave, *harmless))],
            difficulty=difficulty,
            condition=subject,
            variant="grave" if asks_grave else "harmless",
        )
        return make_case(draw, question)
    raise TaskError(f"interaction_partners {draw.split} {draw.index}: no drug has enough partners")


def _rank(a: str, b: str) -> int:
    """Return the place of a pair's severity, -1 where no interaction is recorded."""
    item = interaction_between(a, b)
    return -1 if item is None else SEVERITIES.index(item.severity)


@task_family(counts={"train": 38, "val": 4, "test": 8, "test_ood": 4})
def interaction_effect(draw: Draw) -> Case:
    """What two drugs do together, among effects of other pairs, and how severe it is."""
    difficulty = difficulty_of(draw)
    size = {"easy": 6, "medium": 7, "hard": 8}[difficulty]
    pairs = _pairs_by_effect(draw.split)
    group: list[str] = []
    taken: set[str] = set()
    for effect in ranked(draw, list(pairs)):
        own = {*_WORD.findall(effect.lower()), *(item.mechanism for item in pairs[effect])}
        if len(group) < size and not own & taken:
            group.append(effect)
            taken |= own
    gold = choose(draw, group)
    items = {pair_key(item.a, item.b): item for item in pairs[gold]}
    severity = choose(draw, sorted({item.severity for item in items.values()}))
    item = items[choose(draw, [key for key, one in items.items() if one.severity == severity])]
    first, second = (load_drugs()[str(name)].name for name in draw.rng.permutation([item.a, item.b]))
    wrong = choose(draw, [effect for effect in group if effect != gold])
    question = Question(
        names={"first": first, "second": second},
        options=[Option(text=effect, is_right=effect == gold) for effect in group],
        lookups=(_interaction_lookup(item),),
        difficulty=difficulty,
        condition=pair_key(item.a, item.b),
        answer={"severity": AnswerField(gold=item.severity)},
        rules_out=(wrong, f"interaction:{item.a}:{item.b}", "the entry of this pair names another effect"),
    )
    return make_case(draw, question)


@lru_cache(maxsize=4)
def _pairs_by_effect(split: Split) -> dict[str, tuple[Interaction, ...]]:
    """Return, by effect, the pairs that a split asks about; an effect that names a medicine would tell its pair."""
    found: dict[str, list[Interaction]] = defaultdict(list)
    for item in load_interactions():
        if asked_in(split, f"pair {pair_key(item.a, item.b)}", ("drug", item.a), ("drug", item.b)):
            found[item.effect].append(item)
    names = {
        word
        for drug in load_drugs().values()
        for name in (drug.name, *drug.aliases)
        for word in _WORD.findall(name.lower())
    }
    return {effect: tuple(items) for effect, items in found.items() if not names & {*_WORD.findall(effect.lower())}}


def _interaction_lookup(item: Interaction) -> Lookup:
    first, second = load_drugs()[item.a].name, load_drugs()[item.b].name
    return by_search(
        f"{first} with {second}",
        f"{first} and {second} interaction",
        f"interaction:{item.a}:{item.b}",
        item.source,
        f"kb.pair.{pair_key(item.a, item.b)}",
    )
