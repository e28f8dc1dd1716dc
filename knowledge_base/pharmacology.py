"""Drugs and their interactions: loaded once, and the questions one asks of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

from healthgym.errors import ContentError, NotRegistered

from .pharmacology_rules import expand
from .pharmacology_schema import (
    SEVERITIES,
    Action,
    Advice,
    AllergyGroup,
    Contraindication,
    Dose,
    Drug,
    Interaction,
    RenalBand,
    Severity,
)
from .reading import FOLDER, parse, place_of_entry, read_folder, read_table, read_yaml

__all__ = [
    "DUPLICATION_CLASSES",
    "SEVERITIES",
    "Action",
    "Advice",
    "Contraindication",
    "Dose",
    "Drug",
    "Interaction",
    "QtBurden",
    "RenalBand",
    "Severity",
    "alternatives",
    "cross_reactive",
    "drugs_of_class",
    "duplications",
    "facts_of",
    "find_drug",
    "interaction_between",
    "load_drugs",
    "load_interactions",
    "qt_burden",
    "qt_drugs",
    "renal_dose",
    "screen",
]


@lru_cache(maxsize=1)
def load_drugs() -> Mapping[str, Drug]:
    """Read every monograph once, in order of id. Raises ContentError naming file, entry and remedy."""
    drugs = read_folder(Drug, FOLDER / "drugs")
    for drug in drugs.values():
        for other in (*drug.alternatives, *drug.cross_reactive):
            if other not in drugs or other == drug.id:
                place = place_of_entry(FOLDER / "drugs", drug.id)
                raise ContentError(f"{place}, drug {drug.id!r}: {NotRegistered.named('other drug', other, drugs)}")
    return drugs


@lru_cache(maxsize=1)
def load_interactions() -> tuple[Interaction, ...]:
    """Read the rules once and spell out classes into pairs; a rule naming drugs wins over one naming classes."""
    rules: list[tuple[Any, Interaction]] = []
    for path in sorted((FOLDER / "interactions").glob("*.yaml")):
        entries = read_yaml(path)
        if not isinstance(entries, list):
            raise ContentError(f"{path}: expected a list of rules, got {type(entries).__name__}")
        rules += [(path, parse(Interaction, entry, path, index)) for index, entry in enumerate(entries)]
    return expand(rules, load_drugs())


@lru_cache(maxsize=1)
def _by_pair() -> Mapping[frozenset[str], Interaction]:
    return {interaction.pair: interaction for interaction in load_interactions()}


@lru_cache(maxsize=1)
def _allergy_groups() -> Mapping[str, AllergyGroup]:
    groups = read_table(AllergyGroup, FOLDER / "allergy_groups.yaml")
    return {name: group for group in groups.values() for name in (group.id, *map(_fold, group.aliases))}


def drugs_of_class(name: str) -> tuple[str, ...]:
    """Return the ids of a class's drugs, sorted; empty when there is no such class."""
    return tuple(sorted(drug.id for drug in load_drugs().values() if name in drug.classes))


def find_drug(name: str) -> Drug:
    """Return a drug by id, name or alias, without regard to case. Raises NotRegistered, offering the nearest."""
    drug = _by_name().get(_fold(name))
    if drug is None:
        raise NotRegistered.named("drug", name[:60], load_drugs())
    return drug


def _fold(name: str) -> str:
    return "_".join(name.lower().replace("-", " ").replace("_", " ").replace("'", "").split())


@lru_cache(maxsize=1)
def _by_name() -> Mapping[str, Drug]:
    names: dict[str, Drug] = {}
    for drug in load_drugs().values():
        for text in (drug.id, drug.name, *drug.aliases):
            if names.setdefault(_fold(text), drug) is not drug:
                raise ContentError(f"{text!r} names both {names[_fold(text)].id!r} and {drug.id!r}; remove one alias")
    return names


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


@dataclass(frozen=True, slots=True)
class QtBurden:
    """Drugs of a regimen that prolong the QT interval, by CredibleMeds category."""

    known: tuple[str, ...]
    possible: tuple[str, ...]
    conditional: tuple[str, ...]

    @property
    def tisdale_points(self) -> int:
        """Drug part of the Tisdale score: 3 for one QT-prolonging drug, 6 for two or more.

        Source: Tisdale et al., Circ Cardiovasc Qual Outcomes 2013;6:479. Counted over known and possible risk.
        """
        return 3 * min(2, len(self.known) + len(self.possible))


def qt_burden(drugs: Iterable[str]) -> QtBurden:
    """Return a regimen's QT-prolonging drugs by category."""
    listed = list(dict.fromkeys(drugs))
    return QtBurden(*(qt_drugs(listed, (category,)) for category in ("known", "possible", "conditional")))


def cross_reactive(substance: str, drug: str) -> str | None:
    """Say why a patient allergic to `substance` (drug, class or allergy group, in any spelling) should not get `drug`."""
    monograph, wanted = load_drugs()[drug], _fold(substance)
    group = _allergy_groups().get(wanted)
    if group is not None:
        wanted = group.id
        if drug in group.cross_reactive:
            return f"{monograph.name}: {group.reason}"
    other = _by_name().get(wanted)
    if other is monograph:
        return f"allergic to {monograph.name} itself"
    if wanted == monograph.allergy_group or wanted in monograph.classes:
        return f"{monograph.name} belongs to the group {wanted.replace('_', ' ')}"
    if other is not None and other.allergy_group and other.allergy_group == monograph.allergy_group:
        return f"{monograph.name} and {other.name} are both {other.allergy_group.replace('_', ' ')} drugs"
    if other is not None and (drug in other.cross_reactive or other.id in monograph.cross_reactive):
        return f"{monograph.name} shares a side chain with {other.name}"
    return None


def renal_dose(drug: str, creatinine_clearance_ml_min: float) -> RenalBand | None:
    """Return the band that holds at this clearance, or None when no adjustment is needed."""
    bands = sorted(load_drugs()[drug].renal, key=lambda band: band.below)
    return next((band for band in bands if band.holds(creatinine_clearance_ml_min)), None)


def alternatives(
    drug: str,
    regimen: Iterable[str] = (),
    allergies: Iterable[str] = (),
    *,
    conditions: Iterable[str] = (),
    creatinine_clearance_ml_min: float | None = None,
    trimester: int | None = None,
    age_years: float | None = None,
) -> dict[str, str]:
    """Return alternatives (id to when) that suit the patient.

    Left out: those that interact seriously with `regimen`, meet an allergy, are contraindicated in a condition, are to
    be avoided at the renal function or trimester, or, from 65 years on, always by Beers.
    """
    others, known_allergies = [item for item in regimen if item != drug], tuple(allergies)
    illnesses = tuple(conditions)

    def suits(name: str) -> bool:
        candidate = load_drugs()[name]
        band = None if creatinine_clearance_ml_min is None else renal_dose(name, creatinine_clearance_ml_min)
        return not (
            any(_is_serious(interaction_between(name, item)) for item in others)
            or any(cross_reactive(substance, name) for substance in known_allergies)
            or any(illness in candidate.contraindications for illness in illnesses)
            or (band is not None and band.avoid)
            or (trimester is not None and candidate.avoid_in_trimester(trimester))
            or (age_years is not None and age_years >= 65 and candidate.beers_advice == "avoid")
        )

    return {name: when for name, when in load_drugs()[drug].alternatives.items() if suits(name)}


def _is_serious(interaction: Interaction | None) -> bool:
    return interaction is not None and interaction.severity in ("major", "contraindicated")


def facts_of(drug: Drug) -> dict[str, Any]:
    """Return a monograph as plain data without its empty fields."""
    return {key: value for key, value in drug.model_dump().items() if value not in ((), {}, "", None, False, "none")}
