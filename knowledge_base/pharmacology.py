"""Drugs and their interactions: typed, loaded once, and the questions one asks of them."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import combinations
from typing import Any, Literal

from pydantic import Field

from healthgym.errors import ContentError, NotRegistered

from .reading import FOLDER, parse, read_table, read_yaml
from .schema import Fact

Severity = Literal["contraindicated", "major", "moderate", "minor"]
SEVERITIES: tuple[Severity, ...] = ("minor", "moderate", "major", "contraindicated")
Action = Literal["avoid", "change_drug", "reduce_dose", "monitor", "separate_hours"]


class Dose(Fact):
    """A usual adult dose."""

    dose_mg: float = Field(gt=0)
    times_per_day: float = Field(gt=0)


class RenalBand(Fact):
    """What to do below a creatinine clearance in mL/min (Cockcroft-Gault, unless the note says eGFR)."""

    below: float
    max_daily_mg: float | None = None
    avoid: bool = False
    note: str = ""


class Advice(Fact):
    """Pregnancy or breastfeeding advice."""

    level: Literal["compatible", "caution", "avoid"]
    reason: str = ""


class Drug(Fact):
    """One drug."""

    id: str
    name: str
    classes: tuple[str, ...] = Field(min_length=1)
    aliases: tuple[str, ...] = ()
    indications: tuple[str, ...] = Field(min_length=1)
    routes: tuple[str, ...] = ("oral",)
    usual_dose: Dose | None = None
    max_daily_mg: float | None = None
    renal: tuple[RenalBand, ...] = ()
    """Bands from the lowest limit up; the first that fits holds."""
    hepatic: dict[Literal["A", "B", "C"], Literal["avoid", "reduce"]] = {}
    """By Child-Pugh class."""
    cyp: dict[str, dict[Literal["substrate", "inhibitor", "inducer"], str]] = {}
    transporters: dict[str, tuple[Literal["substrate", "inhibitor", "inducer"], ...]] = {}
    qt_risk: Literal["known", "possible", "conditional", "none"] = "none"
    """CredibleMeds categories."""
    serotonergic: bool = False
    anticholinergic: bool = False
    bleeding: bool = False
    sedative: bool = False
    over_the_counter: bool = False
    potassium: Literal["raises", "lowers", "none"] = "none"
    pregnancy: Advice | None = None
    lactation: Advice | None = None
    beers: str = ""
    """Advice for age 65 and over, AGS Beers Criteria 2023; empty when there is none."""
    contraindications: dict[str, str] = {}
    """Condition to reason."""
    allergy_group: str = ""
    cross_reactive: tuple[str, ...] = ()
    """Drug ids that share a side chain."""
    alternatives: dict[str, str] = {}
    """Drug id to when it is the better choice."""
    abrupt_stop: str = ""
    """What stopping at once may cause."""
    monitoring: tuple[str, ...] = ()
    source: str = Field(min_length=4)


class Interaction(Fact):
    """What happens between two drugs. `replace` and `alternative` say which is exchanged for what."""

    a: str
    b: str
    severity: Severity
    mechanism: str
    effect: str
    action: Action
    replace: str = ""
    alternative: str = ""
    limit_daily_mg: float | None = None
    source: str = Field(min_length=4)

    @property
    def pair(self) -> frozenset[str]:
        """The two drug ids."""
        return frozenset((self.a, self.b))


@lru_cache(maxsize=1)
def load_drugs() -> Mapping[str, Drug]:
    """Read every monograph once. Raises ContentError naming file, entry and remedy."""
    drugs: dict[str, Drug] = {}
    for path in sorted((FOLDER / "formulary").glob("*.yaml")):
        for name, drug in read_table(Drug, path).items():
            if name in drugs:
                raise ContentError(f"{path}: drug {name!r} stands in another file too; remove one")
            drugs[name] = drug
    for drug in drugs.values():
        for other in (*drug.alternatives, *drug.cross_reactive):
            if other not in drugs:
                raise ContentError(f"drug {drug.id!r}: {NotRegistered.named('drug', other, drugs)}")
    return drugs


@lru_cache(maxsize=1)
def load_interactions() -> tuple[Interaction, ...]:
    """Read the rules once and spell out classes into pairs; a rule naming drugs wins over one naming classes."""
    pairs: dict[frozenset[str], tuple[int, Interaction]] = {}
    path = FOLDER / "interactions" / "rules.yaml"
    for entry in read_yaml(path):
        rule = parse(Interaction, entry, path)
        members_a, members_b = _members(rule.a), _members(rule.b)
        exactness = (rule.a in load_drugs()) + (rule.b in load_drugs())
        for a in members_a:
            for b in members_b:
                if a == b or (frozenset((a, b)) in pairs and pairs[frozenset((a, b))][0] >= exactness):
                    continue
                replace = {"a": a, "b": b}.get(rule.replace, "")
                made = rule.model_copy(update={"a": a, "b": b, "replace": replace})
                pairs[frozenset((a, b))] = (exactness, made)
    return tuple(interaction for _, interaction in pairs.values())


@lru_cache(maxsize=1)
def _by_pair() -> Mapping[frozenset[str], Interaction]:
    return {interaction.pair: interaction for interaction in load_interactions()}


def drugs_of_class(name: str) -> tuple[str, ...]:
    """Return the ids of a class's drugs, sorted; empty when there is no such class."""
    return tuple(sorted(drug.id for drug in load_drugs().values() if name in drug.classes))


def _members(name: str) -> tuple[str, ...]:
    if name in load_drugs():
        return (name,)
    members = drugs_of_class(name)
    if not members:
        classes = {item for drug in load_drugs().values() for item in drug.classes}
        raise ContentError(
            f"interactions/rules.yaml: {NotRegistered.named('drug or class', name, {*load_drugs(), *classes})}"
        )
    return members


def find_drug(name: str) -> Drug:
    """Return a drug by id, name or alias, without regard to case. Raises NotRegistered, offering the nearest."""
    wanted = name.strip().lower()
    drug = load_drugs().get(wanted.replace(" ", "_").replace("-", "_")) or _by_name().get(wanted)
    if drug is None:
        raise NotRegistered.named("drug", name[:60], load_drugs())
    return drug


@lru_cache(maxsize=1)
def _by_name() -> Mapping[str, Drug]:
    return {text.lower(): drug for drug in load_drugs().values() for text in (drug.name, *drug.aliases)}


def interaction_between(a: str, b: str) -> Interaction | None:
    """Return what happens between two drug ids, in either order, or None."""
    return _by_pair().get(frozenset((a, b)))


def screen(drugs: Iterable[str]) -> list[Interaction]:
    """Return the interactions within a list of drug ids, the most severe first."""
    found = [interaction_between(a, b) for a, b in combinations(dict.fromkeys(drugs), 2)]
    return sorted((item for item in found if item), key=lambda item: -SEVERITIES.index(item.severity))


DUPLICATION_CLASSES = (
    "anticoagulant", "p2y12_inhibitor", "ace_inhibitor", "arb", "beta_blocker", "calcium_channel_blocker", "statin", "nsaid",
    "ppi", "ssri", "benzodiazepine", "opioid", "sulfonylurea", "dpp4_inhibitor", "loop_diuretic", "macrolide", "azole_antifungal",
)  # fmt: skip
"""Classes of which one drug is enough. Low-dose aspirin is not counted as an NSAID here."""


def duplications(drugs: Iterable[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Return (class, drug ids) for every class taken twice."""
    listed = list(dict.fromkeys(drugs))
    found = []
    for name in DUPLICATION_CLASSES:
        members = tuple(drug for drug in listed if drug != "aspirin" and name in load_drugs()[drug].classes)
        if len(members) > 1:
            found.append((name, members))
    return found


def qt_drugs(drugs: Iterable[str], categories: tuple[str, ...] = ("known",)) -> tuple[str, ...]:
    """Return the drugs whose QT risk is in `categories` (CredibleMeds)."""
    return tuple(drug for drug in drugs if load_drugs()[drug].qt_risk in categories)


def cross_reactive(substance: str, drug: str) -> str | None:
    """Say why a patient allergic to `substance` (drug id, class or allergy group) should not get `drug`, or None."""
    monograph, wanted = load_drugs()[drug], substance.strip().lower().replace(" ", "_")
    if wanted == drug:
        return f"allergic to {monograph.name} itself"
    if wanted == monograph.allergy_group or wanted in monograph.classes:
        return f"{monograph.name} belongs to the group {wanted.replace('_', ' ')}"
    other = load_drugs().get(wanted)
    if other is not None and other.allergy_group and other.allergy_group == monograph.allergy_group:
        return f"{monograph.name} and {other.name} are both {other.allergy_group.replace('_', ' ')} drugs"
    if other is not None and drug in other.cross_reactive:
        return f"{monograph.name} shares a side chain with {other.name}"
    return None


def renal_dose(drug: str, creatinine_clearance_ml_min: float) -> RenalBand | None:
    """Return the band that holds at this clearance, or None when no adjustment is needed."""
    bands = sorted(load_drugs()[drug].renal, key=lambda band: band.below)
    return next((band for band in bands if creatinine_clearance_ml_min < band.below), None)


def alternatives(drug: str, regimen: Iterable[str] = (), allergies: Iterable[str] = ()) -> dict[str, str]:
    """Return alternatives (id to when) that neither interact seriously with `regimen` nor meet an allergy."""
    others = [item for item in regimen if item != drug]
    return {
        name: when
        for name, when in load_drugs()[drug].alternatives.items()
        if not any(_is_serious(interaction_between(name, item)) for item in others)
        and not any(cross_reactive(substance, name) for substance in allergies)
    }


def _is_serious(interaction: Interaction | None) -> bool:
    return interaction is not None and interaction.severity in ("major", "contraindicated")


def facts_of(drug: Drug) -> dict[str, Any]:
    """Return a monograph as plain data without its empty fields."""
    return {key: value for key, value in drug.model_dump().items() if value not in ((), {}, "", None, False, "none")}
