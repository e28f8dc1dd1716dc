"""Reads data files into types; a bad entry names file, entry and remedy."""

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from healthgym.errors import ContentError

M = TypeVar("M", bound=BaseModel)
FOLDER = Path(__file__).parent
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file. Raises ContentError, with line, when it is not valid."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)
    except yaml.YAMLError as error:
        raise ContentError(f"{path}: not valid YAML: {error}") from None


def parse(model: type[M], entry: Any, path: Path) -> M:
    """Return one entry as a typed fact. Raises ContentError naming file, entry and what is wrong."""
    name = entry.get("id", "?") if isinstance(entry, dict) else "?"
    try:
        return model.model_validate(entry)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, p['loc']))}: {p['msg']}" for p in error.errors()[:4])
        raise ContentError(f"{path}, line {_line_of(path, name)}, entry {name!r}: {problems}. Mend it there.") from None


def read_table(model: type[M], path: Path) -> dict[str, M]:
    """Return a file that holds a list of entries as facts by id. Raises ContentError for an id that stands twice."""
    entries = read_yaml(path)
    if not isinstance(entries, list):
        raise ContentError(f"{path}: expected a list of entries, got {type(entries).__name__}")
    facts: dict[str, M] = {}
    for entry in entries:
        fact = parse(model, entry, path)
        name = str(getattr(fact, "id"))  # noqa: B009 - every table's model has an id
        if name in facts:
            raise ContentError(f"{path}, line {_line_of(path, name)}: id {name!r} stands twice; rename or remove one")
        facts[name] = fact
    return facts


def read_folder(model: type[M], folder: Path) -> dict[str, M]:
    """Return the entries of every file of a folder, in order of id. Raises ContentError for an id in two files."""
    found: dict[str, tuple[M, Path]] = {}
    for path in sorted(folder.glob("*.yaml")):
        for name, fact in read_table(model, path).items():
            if name in found:
                raise ContentError(f"{path}: id {name!r} stands in {found[name][1]} too; rename or remove one")
            found[name] = (fact, path)
    return {name: found[name][0] for name in sorted(found)}


def _line_of(path: Path, name: str) -> int:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if f"id: {name}" in line:
            return number
    return 1
