"""The clinical facts, once, each with its source: patients, tasks, passages and graders all come from here."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any

from healthgym.content import line_of
from healthgym.errors import ContentError, NotRegistered

from .pharmacology import Drug, Interaction, load_drugs, load_interactions
from .reading import FOLDER, parse, read_folder, read_table, read_yaml
from .references import Tables, check_condition, check_tables
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
    """Read every data file once. Raises ContentError naming file, line and remedy."""
    tables: dict[str, Mapping[str, Any]] = {
        "symptom": read_folder(Symptom, FOLDER / "symptoms"),
        "sign": read_folder(Sign, FOLDER / "signs"),
        "comorbidity": read_folder(Comorbidity, FOLDER / "comorbidities"),
        "analyte": read_folder(Analyte, FOLDER / "analytes"),
        "study": read_folder(StudyKind, FOLDER / "studies"),
        "medicine": read_table(MedicineLabs, FOLDER / "medicine_labs.yaml"),
    }
    guidelines = read_folder(Guideline, FOLDER / "guidelines")
    drugs = load_drugs()
    names = Tables(
        symptom=tables["symptom"],
        sign=tables["sign"],
        comorbidity=tables["comorbidity"],
        analyte=tables["analyte"],
        study=tables["study"],
        drug=drugs,
        drug_or_class={*drugs, *(name for drug in drugs.values() for name in drug.classes)},
    )
    conditions: dict[str, Condition] = {}
    for path in sorted((FOLDER / "conditions").glob("*.yaml")):
        condition = parse(Condition, read_yaml(path), path)
        if condition.id != path.stem:
            line = line_of(path, "id")
            raise ContentError(
                f"{path}, line {line}: holds condition {condition.id!r}; name the file {condition.id}.yaml"
            )
        check_condition(condition, names, path)
        conditions[condition.id] = condition
    check_tables(
        FOLDER,
        names,
        comorbidities=tables["comorbidity"],
        analytes=tables["analyte"],
        medicines=tables["medicine"],
        guidelines=guidelines,
        conditions=conditions,
    )
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
