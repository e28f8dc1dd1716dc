"""The aspects of a drug's monograph, each a few short lines."""

from collections.abc import Iterator, Mapping
from typing import Literal, get_args

from healthgym.knowledge_base.pharmacology import Drug

from ..evidence.monograph import words

Aspect = Literal["use_and_dose", "kidneys_and_liver", "pregnancy_and_lactation", "risks", "metabolism", "monitoring"]
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)
SECTION: Mapping[Aspect, str] = {
    "use_and_dose": "",
    "kidneys_and_liver": "",
    "pregnancy_and_lactation": ":safety",
    "risks": ":safety",
    "metabolism": ":handling",
    "monitoring": ":handling",
}
"""Which passage of a drug holds an aspect: what follows "drug:<id>" in its id."""
IN_MONOGRAPH: frozenset[Aspect] = frozenset({"use_and_dose"})
"""Aspects that the brief monograph shows whole."""


def aspect_lines(drug: Drug, aspect: Aspect) -> list[str]:
    """Return what the monograph says of an aspect; one line that says so when it says nothing."""
    return list(_LINES[aspect](drug)) or [f"The monograph says nothing about {words([aspect])}."]


def _use_and_dose(drug: Drug) -> Iterator[str]:
    yield f"Class: {words(drug.classes)}. For: {words(drug.indications)}. Route: {words(drug.routes)}."
    if drug.usual_dose is not None:
        yield f"Usual adult dose {drug.usual_dose.dose_mg:g} mg, {drug.usual_dose.times_per_day:g} times a day."
    if drug.max_daily_mg is not None:
        yield f"At most {drug.max_daily_mg:g} mg a day."
    if drug.older_dose is not None:
        yield f"Over {drug.older_dose.over_years} years at most {drug.older_dose.max_daily_mg:g} mg a day."


def _kidneys_and_liver(drug: Drug) -> Iterator[str]:
    for band in sorted(drug.renal, key=lambda band: band.below):
        limit = "at or below" if band.includes_limit else "below"
        dose = "avoid" if band.avoid else f"at most {band.max_daily_mg:g} mg a day" if band.max_daily_mg else ""
        yield f"Clearance {limit} {band.below:g} mL/min: {'; '.join(filter(None, (dose, band.note)))}."
    if drug.renal and drug.max_daily_mg is not None:
        yield f"Otherwise at most {drug.max_daily_mg:g} mg a day."
    for grade, advice in drug.hepatic.items():
        yield f"Child-Pugh {grade}: {'no change' if advice == 'none' else advice}."


def _pregnancy_and_lactation(drug: Drug) -> Iterator[str]:
    for label, advice in (("Pregnancy", drug.pregnancy), ("Breastfeeding", drug.lactation)):
        if advice is not None:
            when = f" in trimester {', '.join(map(str, advice.avoid_trimesters))}" if advice.avoid_trimesters else ""
            yield f"{label}: {advice.level}{when}{f' ({advice.reason})' if advice.reason else ''}."


def _risks(drug: Drug) -> Iterator[str]:
    for condition, reason in drug.contraindications.items():
        yield f"Contraindicated in {words([condition])}: {reason}."
    for condition, reason in drug.relative_contraindications.items():
        yield f"Only with good reason in {words([condition])}: {reason}."
    held = [name for name in ("serotonergic", "anticholinergic", "sedative") if getattr(drug, name)]
    held += ["raises bleeding risk"] if drug.bleeding else []
    held += [f"{drug.potassium} potassium"] if drug.potassium != "none" else []
    yield f"Effects: {', '.join(held) or 'none of those listed (serotonergic, sedative, bleeding, potassium)'}."
    yield f"QT risk: {drug.qt_risk}."
    if drug.beers:
        yield f"Beers Criteria, 65 years and over: {drug.beers}."
    if drug.allergy_group:
        yield f"Allergy group: {words([drug.allergy_group])}."
    if drug.abrupt_stop:
        yield f"Stopping at once may cause {drug.abrupt_stop}."
    if drug.over_the_counter:
        yield "Sold without prescription."


def _metabolism(drug: Drug) -> Iterator[str]:
    for enzyme, roles in drug.cyp.items():
        for role, strength in roles.items():
            yield f"{enzyme} {role}, {strength}."
    for transporter, held in drug.transporters.items():
        yield f"{transporter} {', '.join(held)}."


def _monitoring(drug: Drug) -> Iterator[str]:
    if drug.monitoring:
        yield f"Monitor {words(drug.monitoring)}."


_LINES = {
    "use_and_dose": _use_and_dose,
    "kidneys_and_liver": _kidneys_and_liver,
    "pregnancy_and_lactation": _pregnancy_and_lactation,
    "risks": _risks,
    "metabolism": _metabolism,
    "monitoring": _monitoring,
}
