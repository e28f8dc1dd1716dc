"""Checks that what one fact names, another table has; a name that leads nowhere is told with file, line and the nearest."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from healthgym.content import line_of
from healthgym.errors import ContentError, NotRegistered

from .reading import place_of_entry
from .schema import Analyte, Comorbidity, Condition, Guideline, MedicineLabs

Key = str | int


@dataclass(frozen=True)
class Tables:
    """The ids that facts may name, by kind."""

    symptom: Collection[str]
    sign: Collection[str]
    comorbidity: Collection[str]
    analyte: Collection[str]
    study: Collection[str]
    drug: Collection[str]
    drug_or_class: Collection[str]


def check_condition(condition: Condition, tables: Tables, path: Path) -> None:
    """Raise ContentError when a condition names a symptom, sign, illness, analyte, study or drug that there is none of."""
    named: list[tuple[str, tuple[Key, ...], Iterable[str], Collection[str]]] = [
        ("symptom", ("symptoms",), condition.symptoms, tables.symptom),
        ("sign", ("signs",), condition.signs, tables.sign),
        ("comorbidity", ("who", "comorbidities"), condition.who.comorbidities, tables.comorbidity),
        ("drug", ("who", "medicines"), condition.who.medicines, tables.drug),
        ("drug", ("first_drugs",), condition.first_drugs, tables.drug),
        ("drug or class", ("contraindicated",), condition.contraindicated, tables.drug_or_class),
    ]
    for name, level in condition.severities.items():
        named.append(("analyte", ("severities", name, "labs"), level.labs, tables.analyte))
        named.append(("study", ("severities", name, "studies"), level.studies, tables.study))
    for kind, keys, names, known in named:
        for position, item in enumerate(names):
            if item not in known:
                last = position if isinstance(names, tuple) else item
                where = f"{path}, line {line_of(path, *keys, last)}, condition {condition.id!r}"
                raise ContentError(f"{where}: {NotRegistered.named(kind, item, known)}")


def check_tables(
    folder: Path,
    tables: Tables,
    *,
    comorbidities: Mapping[str, Comorbidity],
    analytes: Mapping[str, Analyte],
    medicines: Mapping[str, MedicineLabs],
    guidelines: Mapping[str, Guideline],
    conditions: Collection[str],
) -> None:
    """Raise ContentError when an illness, analyte, medicine or statement names what there is none of."""
    for name, illness in comorbidities.items():
        _check(folder / "comorbidities", name, "labs", "analyte", illness.labs, tables.analyte)
        _check(folder / "comorbidities", name, "medicines", "drug", illness.medicines, tables.drug)
    for name, analyte in analytes.items():
        _check(folder / "analytes", name, "drug", "drug", filter(None, [analyte.drug]), tables.drug)
    for name, medicine in medicines.items():
        _check(folder / "medicine_labs.yaml", name, "id", "drug", [name], tables.drug)
        _check(folder / "medicine_labs.yaml", name, "labs", "analyte", medicine.labs, tables.analyte)
    for name, statement in guidelines.items():
        _check(folder / "guidelines", name, "conditions", "condition", statement.conditions, conditions)


def _check(where: Path, entry: str, key: str, kind: str, names: Iterable[Any], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            place = place_of_entry(where, entry, key, name)
            raise ContentError(f"{place}, entry {entry!r}: {NotRegistered.named(kind, name, known)}")
