"""Claims that can be supported or not: an entity's value, right or borrowed from a neighbour; altered guideline numbers."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

from healthgym.knowledge_base import load
from healthgym.knowledge_base.pharmacology import load_drugs
from healthgym.knowledge_base.schema import Guideline

from .finding import analyte_fact, by_search, code_fact, drug_fact, passage_saying
from .partition import Kind
from .questions import Lookup, mid_sentence

NEAR = 4.0
_UNITS = r"hours?|minutes?|days?|weeks?|months?|years?|mmHg|mg/dL|g/dL|ng/mL|mmol/L|mg/kg|mL/kg|mg|%"
_NUMBER = re.compile(rf"(?<![\d.,/])(?<!to )(?<!and )(?<!or )(\d+(?:\.\d+)?) ({_UNITS})\b(?! to)|(?<![\d.,/])(\d+) (%)")
_SENTENCE = re.compile(r"(?<=[.;])\s+(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Claim:
    """What an entity's value is, and how a claim with it reads."""

    entity: str
    kind: Kind
    value: str
    size: float
    """Orders values, so that borrowed ones come from near by."""
    family: str
    """Only values of one family are exchanged: the same unit, the same kind."""
    template: str
    """How a claim reads; {value} stands for the value."""
    lookup: Callable[[], Lookup]

    def saying(self, value: str) -> str:
        """Return the claim with a value."""
        return self.template.format(value=value)


def daily_maxima() -> Iterator[Claim]:
    """Yield the highest daily doses."""
    for drug in load_drugs().values():
        if drug.max_daily_mg is not None:
            yield Claim(
                entity=drug.id,
                kind="drug",
                value=f"{drug.max_daily_mg:g}",
                size=drug.max_daily_mg,
                family="mg",
                template=f"At most {{value}} mg of {drug.name} a day",
                lookup=partial(drug_fact, drug.id, "use_and_dose", "At most"),
            )


def upper_limits() -> Iterator[Claim]:
    """Yield the upper reference limits of men of 40 years, by unit."""
    for analyte in load().analytes.values():
        limits = analyte.reference_range("male", 40)
        if not analyte.drug and " " not in analyte.unit and limits.high > 0:
            yield Claim(
                entity=analyte.id,
                kind="analyte",
                value=f"{limits.high:g}",
                size=limits.high,
                family=analyte.unit,
                template=f"Upper limit of {mid_sentence(analyte.name)} in a man of 40 years: {{value}} {analyte.unit}",
                lookup=partial(analyte_fact, analyte.id, "male", 40),
            )


def codes() -> Iterator[Claim]:
    """Yield the ICD-10 codes of conditions, exchanged within the whole list."""
    for place, condition in enumerate(sorted(load().conditions.values(), key=lambda one: one.icd10)):
        yield Claim(
            entity=condition.id,
            kind="condition",
            value=condition.icd10,
            size=float(place),
            family="code",
            template=f"{condition.name} has the ICD-10-CM code {{value}}",
            lookup=partial(code_fact, condition.id),
        )


STRUCTURED: Mapping[str, Callable[[], Iterator[Claim]]] = {
    "maxima": daily_maxima,
    "limits": upper_limits,
    "codes": codes,
}


@lru_cache(maxsize=8)
def structured(name: str) -> tuple[Claim, ...]:
    """Return all claims of one kind."""
    return tuple(STRUCTURED[name]())


@dataclass(frozen=True, slots=True)
class Numbered:
    """A sentence of a guideline with one number of a unit that may be altered."""

    guideline: str
    before: str
    number: str
    unit: str
    after: str

    @property
    def family(self) -> str:
        """The unit in the singular."""
        return self.unit.removesuffix("s") if self.unit not in ("mmHg",) else self.unit

    def saying(self, number: str) -> str:
        """Return the sentence with a number, its unit in the matching grammatical number."""
        unit = self.unit
        if unit.rstrip("s") in ("hour", "minute", "day", "week", "month", "year"):
            unit = unit.rstrip("s") + ("" if float(number) == 1 else "s")
        return f"{self.before}{number} {unit}{self.after}"


@lru_cache(maxsize=1)
def numbered_sentences() -> Mapping[str, tuple[Numbered, ...]]:
    """Return, by guideline statement, its sentences with a number that may be altered."""
    found = {name: tuple(_numbered(item)) for name, item in load().guidelines.items()}
    return {name: items for name, items in found.items() if items}


def _numbered(item: Guideline) -> Iterator[Numbered]:
    for sentence in _SENTENCE.split(item.statement):
        for match in _NUMBER.finditer(sentence):
            number, unit = (match[1], match[2]) if match[1] else (match[3], match[4])
            start = match.start()
            yield Numbered(item.id, f"{item.title}: {sentence[:start]}", number, unit, sentence[match.end() :])


def near_numbers(sentence: Numbered) -> dict[str, float]:
    """Return other numbers that guidelines use with the same unit, by how often, at most `NEAR` times as large or small.

    Numbers of real sentences alone: an odd figure would give an altered sentence away.
    """
    counts: dict[str, float] = {}
    said = {sentence.number, *re.findall(r"\d+(?:\.\d+)?", sentence.before + sentence.after)}
    for items in numbered_sentences().values():
        for item in items:
            ratio = float(item.number) / max(1e-9, float(sentence.number))
            if item.family == sentence.family and item.number not in said and 1 / NEAR <= ratio <= NEAR:
                counts[item.number] = counts.get(item.number, 0.0) + 1.0
    return counts


def guideline_fact(name: str) -> Lookup:
    """Return how to find a guideline statement."""
    item = load().guidelines[name]
    query = f"{item.title} {' '.join(item.topics)}"[:200]
    return by_search(item.title, query, passage_saying(f"guideline:{name}"), item.source, f"kb.guideline.{name}")
