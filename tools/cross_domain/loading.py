"""Reads the pathway files once and checks that what they name exists."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import get_args

from healthgym.errors import ContentError, NotRegistered
from healthgym.knowledge_base import load
from healthgym.knowledge_base.reading import parse, read_yaml

from .schema import Branch, Pathway, PathwayName

FOLDER = Path(__file__).parent / "pathways"


@lru_cache(maxsize=1)
def pathways() -> Mapping[str, Pathway]:
    """Return every pathway by name. Raises ContentError naming file, entry and remedy."""
    return {name: _read(FOLDER / f"{name}.yaml") for name in get_args(PathwayName)}


def _read(path: Path) -> Pathway:
    pathway = parse(Pathway, read_yaml(path), path)
    for branch in pathway.branches:
        _check(pathway, branch, path)
    return pathway


def _check(pathway: Pathway, branch: Branch, path: Path) -> None:
    """Raise ContentError for a branch that names what neither its pathway nor the knowledge base has."""
    kb = load()
    actions = {*pathway.doses, *pathway.treatments}
    swaps = {item for twist in pathway.twists for item in (*twist.swap, *twist.swap.values())}
    named = [
        ("condition", [branch.condition], kb.conditions),
        ("decision", [branch.decision], pathway.decisions),
        ("next action", [branch.next.action], pathway.next_actions),
        ("symptom or sign", [*branch.present, *branch.absent], {*kb.symptoms, *kb.signs}),
        ("comorbidity", branch.comorbidities, kb.comorbidities),
        ("medicine", branch.medicines, kb.drugs),
        ("dose or treatment", swaps, actions),
        ("drug or treatment", [*branch.avoid, *branch.neutral], {*(d.drug for d in pathway.doses.values()), *actions}),
        ("service", branch.notes, pathway.headings),
        ("dose or treatment", [s.split()[1] for s in branch.steps if s.split()[0] in ("give", "start")], actions),
    ]
    for what, names, known in named:
        for name in names:
            if name not in known:
                raise ContentError(f"{path}, branch {branch.id}: {NotRegistered.named(what, name, known)}")
    for service, note in branch.notes.items():
        for heading in note:
            if heading not in pathway.headings.get(service, {}):
                raise ContentError(f"{path}, branch {branch.id}: headings of {service} lack {heading!r}; add it there")
