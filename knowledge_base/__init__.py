"""The clinical facts, once, each with its source: patients, tasks, passages and graders all come from here."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from healthgym.errors import ContentError, NotRegistered

from .pharmacology import Drug, Interaction, load_drugs, load_interactions
from .reading import FOLDER, parse, read_folder, read_table, read_yaml
from .schema import Analyte, Comorbidity, Condition, Guideline, MedicineLabs, Sign, StudyKind, Symptom

__all__ = ["KnowledgeBase", "load"]


@dataclass(frozen=True)
class KnowledgeBase:
    """Every fact, by id."""

    conditions: Mapping[str, Condition]
    symptoms: Mapping[str, Symptom]
    signs: Mapping[str, Sign]
    comorbidities: Mapping[str, Comorbidity]
    analytes: Mapping[str, Analyte]
    studies: Mapping[str, StudyKind]
    guidelines: Mapping[str, Guideline]
    medicine_labs: Mapping[str, MedicineLabs]

    @cached_property
    def drugs(self) -> Mapping[str, Drug]:
        """Drug monographs by id."""
        return load_drugs()

    @cached_property
    def interactions(self) -> tuple[Interaction, ...]:
        """Interactions between pairs of drugs."""
        return load_interactions()

    def condition(self, name: str) -> Condition:
        """Return a condition. Raises NotRegistered, offering the nearest, when there is none of that id."""
        if name not in self.conditions:
            raise NotRegistered.named("condition", name, self.conditions)
        return self.conditions[name]

    def digest(self) -> str:
        """Return the SHA-256 over every data file's name and content."""
        total = sha256()
        for path in sorted(FOLDER.rglob("*.yaml")):
            total.update(path.relative_to(FOLDER).as_posix().encode() + b"\0" + path.read_bytes())
        return total.hexdigest()


@lru_cache(maxsize=1)
def load() -> KnowledgeBase:
    """Read every data file once. Raises ContentError naming file, entry and remedy."""
    tables: dict[str, Mapping[str, Any]] = {
        "symptom": read_folder(Symptom, FOLDER / "symptoms"),
        "sign": read_folder(Sign, FOLDER / "signs"),
        "comorbidity": read_folder(Comorbidity, FOLDER / "comorbidities"),
        "analyte": read_folder(Analyte, FOLDER / "analytes"),
        "study": read_folder(StudyKind, FOLDER / "studies"),
        "medicine": read_table(MedicineLabs, FOLDER / "medicine_labs.yaml"),
    }
    guidelines = read_folder(Guideline, FOLDER / "guidelines")
    conditions: dict[str, Condition] = {}
    for path in sorted((FOLDER / "conditions").glob("*.yaml")):
        condition = parse(Condition, read_yaml(path), path)
        if condition.id != path.stem:
            raise ContentError(f"{path}: holds condition {condition.id!r}; name the file {condition.id}.yaml")
        _check_references(condition, tables, path)
        conditions[condition.id] = condition
    _check_illnesses_and_guidelines(tables, guidelines, conditions)
    return KnowledgeBase(
        conditions=conditions,
        symptoms=tables["symptom"],
        signs=tables["sign"],
        comorbidities=tables["comorbidity"],
        analytes=tables["analyte"],
        studies=tables["study"],
        guidelines=guidelines,
        medicine_labs=tables["medicine"],
    )


def _check_references(condition: Condition, tables: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    named: dict[str, set[str]] = {
        "symptom": set(condition.symptoms),
        "sign": set(condition.signs),
        "comorbidity": set(condition.who.comorbidities),
        "analyte": {name for severity in condition.severities.values() for name in severity.labs},
        "study": {name for severity in condition.severities.values() for name in severity.studies},
    }
    for kind, names in named.items():
        _check(f"{path}, condition {condition.id!r}", kind, names, tables[kind])


def _check_illnesses_and_guidelines(
    tables: Mapping[str, Mapping[str, Any]], guidelines: Mapping[str, Guideline], conditions: Mapping[str, Condition]
) -> None:
    for name, illness in tables["comorbidity"].items():
        _check(f"{FOLDER / 'comorbidities'}, {name!r}", "analyte", set(illness.labs), tables["analyte"])
    for name, medicine in tables["medicine"].items():
        _check(f"{FOLDER / 'medicine_labs.yaml'}, {name!r}", "analyte", set(medicine.labs), tables["analyte"])
    for name, guideline in guidelines.items():
        _check(f"{FOLDER / 'guidelines'}, statement {name!r}", "condition", set(guideline.conditions), conditions)


def _check(where: str, kind: str, names: set[str], known: Mapping[str, Any]) -> None:
    for name in sorted(names - set(known)):
        raise ContentError(f"{where}: {NotRegistered.named(kind, name, known)}")
