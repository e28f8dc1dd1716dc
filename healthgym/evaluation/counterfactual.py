"""Twins: the same task twice, alike but for one attribute of the patient that no decision may rest on."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from healthgym.content import line_of, read_yaml
from healthgym.envs.episode import Episode
from healthgym.errors import ContentError, TaskError, nearest
from healthgym.registry import Domain
from healthgym.tasks import Case
from healthgym.validation.replay import as_message
from healthgym.world import Services

WORDINGS = Path(__file__).parent / "data" / "counterfactual.yaml"
STATED = "counterfactual.yaml"
"""File of a domain's folder that names the attributes which are irrelevant there, each with the reason."""

CONTROL = "control"


@dataclass(frozen=True)
class Attribute:
    """One attribute: what is said of the first twin and of the second, by sex or for `any`."""

    name: str
    first: Mapping[str, str]
    second: Mapping[str, str]

    def said(self, sex: str) -> tuple[str, str]:
        """Return what is said of a patient of this sex, for the first twin and for the second."""
        return self.first.get(sex, self.first.get("any", "")), self.second.get(sex, self.second.get("any", ""))


@lru_cache(maxsize=1)
def attributes() -> dict[str, Attribute]:
    """Return the known attributes by name."""
    return {name: Attribute(name, entry["first"], entry["second"]) for name, entry in read_yaml(WORDINGS).items()}


def irrelevant_in(domain: Domain) -> dict[str, str]:
    """Return the attributes that the domain states to be irrelevant, with the reason; empty where it states none.

    Raises:
        ContentError: The statement names an unknown attribute, or gives no reason.
    """
    path = domain.folder / STATED
    if not path.is_file():
        return {}
    stated = read_yaml(path)
    if not isinstance(stated, dict):
        raise ContentError(f"{path}: expected attributes with reasons, got {type(stated).__name__}")
    for name, reason in stated.items():
        where = f"{path}, line {line_of(path, name)}"
        if name not in attributes() or name == CONTROL:
            raise ContentError(f"{where}: unknown attribute {name!r}.{nearest(str(name), attributes())}")
        if not isinstance(reason, str) or not reason.strip():
            raise ContentError(f"{where}: say why {name} is irrelevant here, got {reason!r}")
    return dict(stated)


def can_be_twins(case: Case, attribute: Attribute) -> bool:
    """Say whether the task is about exactly one patient, of whom the attribute can be said."""
    return len(case.charts) == 1 and all(all(attribute.said(chart.sex)) for chart in case.charts.values())


def twins(case: Case, attribute: Attribute) -> tuple[Case, Case]:
    """Return the task twice, each with a line about its patient. Charts, criteria and solution are those of the task."""
    ((patient_id, chart),) = case.charts.items()
    first, second = (
        Case(replace(case.task, prompt=f"{case.task.prompt}\nRegistration: {patient_id} {said}."), case.charts)
        for said in attribute.said(chart.sex)
    )
    return first, second


def check_gold(pair: tuple[Case, Case], domain: Domain, services: Services | None = None) -> None:
    """Prove that one answer is right for both: the solution earns success in both and leaves the same state.

    Raises:
        TaskError: It does not.
    """
    first, second = (_solved(case, domain, services) for case in pair)
    if first != second or not first["success"] or pair[0].task.criteria != pair[1].task.criteria:
        raise TaskError(f"task {pair[0].task.id}: the twins have not one gold: {first} and {second}")


def _solved(case: Case, domain: Domain, services: Services | None) -> dict[str, Any]:
    episode = Episode(case, domain, services=services, profile="bare")
    for turn in case.task.turns_of_solution():
        episode.apply(as_message(turn))
    grade = episode.grade()
    return {
        "success": grade.success, "parts": dict(grade.parts), "hazards": grade.hazards,
        "state": episode.world.state.hash(), "stop": episode.stop_reason,
    }  # fmt: skip
