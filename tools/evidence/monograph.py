"""Drugs as an agent meets them: found by any of their names, shown in a few lines."""

from collections.abc import Iterable

from healthgym.errors import NotRegistered, ToolError
from healthgym.knowledge_base.pharmacology import Drug, find_drug


def known_drug(name: str) -> Drug:
    """Return a drug by id, name or alias. Raises ToolError, offering the nearest, for an unknown one."""
    try:
        return find_drug(name)
    except NotRegistered as error:
        raise ToolError(str(error)) from None


def monograph(drug: Drug) -> str:
    """Return a drug's facts in a few short lines, its source last."""
    lines = [f"{drug.name}: {words(drug.classes)}; for {words(drug.indications)}."]
    if drug.usual_dose is not None:
        most = f", at most {drug.max_daily_mg:g} mg/day" if drug.max_daily_mg else ""
        lines.append(f"Usual dose {drug.usual_dose.dose_mg:g} mg x{drug.usual_dose.times_per_day:g}/day{most}.")
    lines += [f"CrCl below {band.below:g} mL/min: {band.note}." for band in drug.renal]
    if drug.contraindications:
        lines.append(f"Contraindicated in {words(drug.contraindications)}.")
    for label, advice in (("Pregnancy", drug.pregnancy), ("Lactation", drug.lactation)):
        if advice is not None:
            lines.append(f"{label}: {advice.level} ({advice.reason}).")
    if drug.qt_risk != "none":
        lines.append(f"QT risk {drug.qt_risk}.")
    if drug.beers:
        lines.append(f"Age 65 and over: {drug.beers}.")
    return "\n".join([*lines, f"Source: {drug.source}."])


def words(ids: Iterable[str]) -> str:
    """Return ids as words, joined by commas."""
    return ", ".join(str(item).replace("_", " ") for item in ids)
