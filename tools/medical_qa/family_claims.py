"""Questions that set claims against the evidence: values of neighbours exchanged, numbers of guidelines altered."""

from healthgym.errors import TaskError
from healthgym.tasks import Call, Case, task_family
from healthgym.tasks.families import Draw

from .claims import STRUCTURED, Claim, guideline_fact, near_numbers, numbered_sentences, structured
from .drawing import choose, difficulty_of, ranked
from .partition import asked_in
from .questions import Option, Question, make_case

FEWEST = 5
"""Sentences in a question at least."""


@task_family(counts={"train": 38, "val": 4, "test": 8, "test_ood": 4}, version=2)
def value_claims(draw: Draw) -> Case:
    """Which claims about values of kindred entities the evidence supports; false ones carry each other's values."""
    difficulty = difficulty_of(draw)
    size = {"easy": 5, "medium": 5, "hard": 6}[difficulty]
    for name in ranked(draw, list(STRUCTURED)):
        pool = [c for c in structured(name) if asked_in(draw.split, f"{name} of {c.entity}", (c.kind, c.entity))]
        by_entity = {claim.entity: claim for claim in pool}
        for seed in ranked(draw, list(by_entity)):
            group = _neighbours(by_entity[seed], pool, size)
            if len(group) == size:
                return make_case(draw, _exchange(draw, group, name))
    raise TaskError(f"value_claims {draw.split} {draw.index}: no {size} neighbours with values of their own")


def _neighbours(seed: Claim, pool: list[Claim], size: int) -> list[Claim]:
    """Return the claims whose values lie nearest the seed's, each value once, the seed first."""
    near = sorted(
        (c for c in pool if c.family == seed.family), key=lambda c: (abs(c.size - seed.size), c.entity != seed.entity)
    )
    group: list[Claim] = []
    for claim in near:
        if claim.value not in {other.value for other in group}:
            group.append(claim)
    return group[:size]


def _exchange(draw: Draw, group: list[Claim], name: str) -> Question:
    """Return the question in which two or more claims carry each other's values and the rest their own."""
    order = [group[int(i)] for i in draw.rng.permutation(len(group))]
    count = int(draw.rng.integers(2, len(order) - 1))
    false = sorted(order[:count], key=lambda claim: claim.size)
    asks_supported = bool(draw.rng.integers(2))
    options = [
        Option(text=claim.saying(other.value), is_right=not asks_supported)
        for claim, other in zip(false, [*false[1:], false[0]], strict=True)
    ]
    options += [Option(text=claim.saying(claim.value), is_right=asks_supported) for claim in order[count:]]
    return Question(
        names={},
        options=options,
        takes_several=True,
        lookups=[claim.lookup() for claim in sorted(group, key=lambda claim: claim.entity)],
        difficulty=difficulty_of(draw),
        condition=name,
        variant="supported" if asks_supported else "unsupported",
    )


@task_family(counts={"train": 38, "val": 4, "test": 8, "test_ood": 4})
def guideline_claims(draw: Draw) -> Case:
    """Which sentences a guideline says as they stand; in the others one number was exchanged for another of its unit."""
    difficulty = difficulty_of(draw)
    size = {"easy": FEWEST, "medium": FEWEST, "hard": FEWEST + 1}[difficulty]
    pool = [name for name in numbered_sentences() if asked_in(draw.split, f"statement {name}", ("guideline", name))]
    options: list[Option] = []
    chosen: list[str] = []
    working: list[Call] = []
    asks_supported = bool(draw.rng.integers(2))
    for name in ranked(draw, pool):
        items = {str(place): item for place, item in enumerate(numbered_sentences()[name])}
        item = items[choose(draw, list(items))]
        others = near_numbers(item)
        is_right = bool(draw.rng.integers(2))
        if len(chosen) == size or not others:
            continue
        text = item.saying(item.number if is_right else choose(draw, others))
        options.append(Option(text=text, is_right=is_right is asks_supported))
        chosen.append(name)
        if len(chosen) <= 2:
            working.append(
                Call("check_claim", claim=text[:400], passage_id=guideline_fact(name).read[0].arguments["passage_id"])
            )
    if len(chosen) < FEWEST:
        raise TaskError(f"guideline_claims {draw.split} {draw.index}: only {len(chosen)} of {size} statements")
    question = Question(
        names={},
        options=options,
        takes_several=True,
        lookups=[guideline_fact(name) for name in sorted(chosen)],
        difficulty=difficulty,
        condition="+".join(sorted(chosen)),
        working=working,
        variant="supported" if asks_supported else "unsupported",
    )
    return make_case(draw, question)
