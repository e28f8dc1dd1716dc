"""What can be asked of a monograph: single facts that tell drugs apart, and properties that a drug has or lacks."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from healthgym.knowledge_base.pharmacology import Drug, load_drugs

from ..evidence.monograph import words
from .aspects import Aspect


@dataclass(frozen=True, slots=True)
class DrugFact:
    """One thing that a monograph says."""

    text: str
    """As a question puts it."""
    aspect: Aspect
    passage_words: str
    """As the drug's passage has it."""


@lru_cache(maxsize=512)
def facts_about(drug: str) -> tuple[DrugFact, ...]:
    """Return the facts by which a drug can be told from others; none names the drug."""
    monograph = load_drugs()[drug]
    names = [name.lower() for name in (drug, monograph.name, *monograph.aliases)]
    return tuple(fact for fact in _facts(monograph) if not any(name in fact.text.lower() for name in names))


def _facts(drug: Drug) -> Iterator[DrugFact]:
    for enzyme, roles in drug.cyp.items():
        for role, strength in roles.items():
            yield DrugFact(f"{words([enzyme])} {role}, {strength}", "metabolism", f"{enzyme} {role}, {strength}")
    for condition in drug.contraindications:
        text = f"contraindicated in {words([condition])}"
        yield DrugFact(text, "risks", text)
    if drug.abrupt_stop:
        yield DrugFact(f"stopping at once may cause {drug.abrupt_stop}", "risks", "Stopping at once may cause")
    if drug.beers:
        yield DrugFact(f"Beers Criteria: {drug.beers}", "risks", drug.beers)
    if drug.qt_risk != "none":
        yield DrugFact(f"QT risk: {drug.qt_risk}", "risks", f"QT risk: {drug.qt_risk}")
    if drug.pregnancy is not None and drug.pregnancy.reason:
        text = f"pregnancy: {drug.pregnancy.level}, {drug.pregnancy.reason}"
        yield DrugFact(text, "pregnancy_and_lactation", drug.pregnancy.reason)
    if drug.lactation is not None and drug.lactation.reason:
        text = f"breastfeeding: {drug.lactation.level}, {drug.lactation.reason}"
        yield DrugFact(text, "pregnancy_and_lactation", drug.lactation.reason)
    for grade, advice in drug.hepatic.items():
        if advice != "none":
            yield DrugFact(f"Child-Pugh {grade}: {advice}", "kidneys_and_liver", f"Child-Pugh {grade}: {advice}")
    for band in drug.renal:
        if band.note and not band.avoid:
            text = f"clearance below {band.below:g} mL/min: {band.note}"
            yield DrugFact(text, "kidneys_and_liver", band.note)
    if drug.monitoring:
        text = f"monitor {words(drug.monitoring)}"
        yield DrugFact(text, "monitoring", f"Monitor {words(drug.monitoring)}")


@dataclass(frozen=True, slots=True)
class Property:
    """Something that a monograph says of some drugs and not of others."""

    text: str
    """Completes "which of these medicines ...", positive."""
    negative: str
    """The same, denied."""
    aspect: Aspect
    has: Callable[[Drug], bool]
    speaks: Callable[[Drug], bool] = lambda drug: True
    """Whether the monograph speaks of the matter, so that absence means something."""


def _role(enzyme: str, role: str) -> Callable[[Drug], bool]:
    return lambda drug: drug.has_role(enzyme, role)  # type: ignore[arg-type]


def _has_enzymes(drug: Drug) -> bool:
    return bool(drug.cyp or drug.transporters)


PROPERTIES: Mapping[str, Property] = {
    "qt": Property("are listed with a QT risk", "are not listed with any QT risk", "risks", lambda d: d.qt_risk != "none"),
    "serotonergic": Property("are marked serotonergic", "are not marked serotonergic", "risks", lambda d: d.serotonergic),
    "sedative": Property("are marked sedative", "are not marked sedative", "risks", lambda d: d.sedative),
    "bleeding": Property(
        "are marked as raising the risk of bleeding",
        "are not marked as raising the risk of bleeding",
        "risks",
        lambda d: d.bleeding,
    ),
    "potassium": Property("are said to raise potassium", "are not said to raise potassium", "risks", lambda d: d.potassium == "raises"),
    "beers": Property("have an entry in the Beers Criteria", "have no entry in the Beers Criteria", "risks", lambda d: bool(d.beers)),
    "abrupt_stop": Property(
        "come with a warning against stopping at once",
        "come without a warning against stopping at once",
        "risks",
        lambda d: bool(d.abrupt_stop),
    ),
    "cyp3a4_substrate": Property(
        "are substrates of CYP3A4", "are not substrates of CYP3A4", "metabolism", _role("CYP3A4", "substrate"), _has_enzymes
    ),
    "cyp3a4_inhibitor": Property(
        "inhibit CYP3A4", "do not inhibit CYP3A4", "metabolism", _role("CYP3A4", "inhibitor"), _has_enzymes
    ),
    "cyp2d6_substrate": Property(
        "are substrates of CYP2D6", "are not substrates of CYP2D6", "metabolism", _role("CYP2D6", "substrate"), _has_enzymes
    ),
    "p_gp": Property(
        "are substrates of P-gp", "are not substrates of P-gp", "metabolism", _role("P-gp", "substrate"), _has_enzymes
    ),
    "first_trimester": Property(
        "are to be avoided in the first trimester",
        "need not be avoided in the first trimester",
        "pregnancy_and_lactation",
        lambda d: d.avoid_in_trimester(1),
        lambda d: d.pregnancy is not None,
    ),
    "breastfeeding": Property(
        "are called compatible with breastfeeding",
        "are not called compatible with breastfeeding",
        "pregnancy_and_lactation",
        lambda d: d.lactation is not None and d.lactation.level == "compatible",
        lambda d: d.lactation is not None,
    ),
    "creatinine": Property(
        "ask for monitoring of creatinine",
        "do not ask for monitoring of creatinine",
        "monitoring",
        lambda d: "creatinine" in d.monitoring,
        lambda d: bool(d.monitoring),
    ),
}  # fmt: skip


def kinship(drug: str, other: str) -> float:
    """Return how alike two drugs are as options: the same class, the same purpose, or neither."""
    a, b = load_drugs()[drug], load_drugs()[other]
    return 1.0 + 6.0 * bool(set(a.classes) & set(b.classes)) + 3.0 * bool(set(a.indications) & set(b.indications))
