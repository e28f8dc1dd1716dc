"""How an agent finds a fact: the query that brings its passage up, the passage, and every key that counts as having read it."""

from functools import lru_cache

from healthgym.errors import TaskError
from healthgym.knowledge_base import load
from healthgym.knowledge_base.pharmacology import load_drugs
from healthgym.knowledge_base.render import passages
from healthgym.tasks import Call

from .aspects import IN_MONOGRAPH, SECTION, Aspect
from .questions import Lookup

HITS = 10
"""How many hits an oracle asks for."""


@lru_cache(maxsize=1)
def _texts() -> dict[str, str]:
    return {passage.id: passage.text for passage in passages()}


def parts_of(name: str) -> tuple[str, ...]:
    """Return the ids of a passage and its numbered continuations; none when there is no such passage."""
    found, number = [], 1
    while (part := name if number == 1 else f"{name}:{number}") in _texts():
        found.append(part)
        number += 1
    return tuple(found)


def passage_saying(name: str, words: str = "") -> str:
    """Return the id of the part of a passage that holds `words`. Raises TaskError when none does."""
    for part in parts_of(name):
        if words in _texts()[part]:
            return part
    raise TaskError(f"no part of passage {name!r} says {words!r}")


def by_search(label: str, query: str, passage: str, source: str, *also: str) -> Lookup:
    """Return a lookup that searches for a passage and reads it; `also` are further keys that count."""
    return Lookup(
        label=label,
        keys=(f"kb.passage.{passage}", *also),
        search=(Call("search_evidence", query=query, k=HITS),),
        read=(Call("read_passage", passage_id=passage),),
        source=source,
    )


def drug_fact(drug: str, aspect: Aspect, words: str = "") -> Lookup:
    """Return how to find one aspect of a drug's monograph; `words` stand in the passage where the fact does.

    The suite was frozen when a search still brought safety passages up late, behind the many passages on pairs: these, and
    what no passage or any of several may say, are read through the monograph's aspects.
    """
    monograph = load_drugs()[drug]
    label, name = f"{aspect.replace('_', ' ')} of {monograph.name}", f"drug:{drug}{SECTION[aspect]}"
    also = [f"kb.aspect.{drug}.{aspect}"] + ([f"kb.drug.{drug}"] if aspect in IN_MONOGRAPH else [])
    is_searched = SECTION[aspect] != ":safety" and (words or len(parts_of(name)) == 1)
    if is_searched:
        return by_search(label, _query(drug, aspect), passage_saying(name, words), monograph.source, *also)
    if words or len(parts_of(name)) == 1:
        also.append(f"kb.passage.{passage_saying(name, words)}")
    call = Call("drug_aspect", drug=monograph.name, aspect=aspect)
    return Lookup(label=label, keys=tuple(also), read=(call,), source=monograph.source)


def _query(drug: str, aspect: Aspect) -> str:
    """Return the words that bring up a drug's passage ahead of those on pairs: its name twice, what it is and what it is for."""
    monograph = load_drugs()[drug]
    if SECTION[aspect]:
        return f"{monograph.name} metabolism and monitoring"
    kind = f"{' '.join(monograph.classes)}; for {' '.join(monograph.indications)}".replace("_", " ")
    return f"{monograph.name} {monograph.name}: {kind}; route; usual adult dose mg a day"


def pair_fact(a: str, b: str) -> Lookup:
    """Return how to find what two drugs do to each other, or that nothing is recorded."""
    first, second = (load_drugs()[name].name for name in (a, b))
    return Lookup(
        label=f"{first} with {second}",
        keys=(f"kb.pair.{pair_key(a, b)}", *(f"kb.passage.interaction:{x}:{y}" for x, y in ((a, b), (b, a)))),
        read=(Call("interaction_facts", drug=first, other=second),),
    )


def pair_key(a: str, b: str) -> str:
    """Return one key for two drugs in either order."""
    return "+".join(sorted((a, b)))


def analyte_fact(analyte: str, sex: str, age_years: float) -> Lookup:
    """Return how to find the reference limits that hold for a person."""
    entry = load().analytes[analyte]
    limits = entry.reference_range(sex, age_years)
    return by_search(
        f"reference limits of {entry.name}",
        f"{entry.name} reference range",
        passage_saying(f"analyte:{analyte}"),
        entry.source,
        f"kb.limits.{limits_key(analyte, limits.low, limits.high)}",
    )


def code_fact(condition: str) -> Lookup:
    """Return how to find a condition's ICD-10 code."""
    entry = load().conditions[condition]
    return by_search(
        f"overview of {entry.name}",
        f"{entry.name} ICD-10-CM overview",
        passage_saying(f"condition:{condition}", "ICD-10"),
        entry.source,
    )


def limits_key(analyte: str, low: float, high: float) -> str:
    """Return the key of one band of an analyte's limits."""
    return f"{analyte}.{low:g}-{high:g}"
