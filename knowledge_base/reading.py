"""Reads data files into types; a bad entry names file, line, entry and remedy."""

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from healthgym.content import line_of, read_yaml
from healthgym.errors import ContentError

__all__ = ["FOLDER", "parse", "place_of_entry", "read_folder", "read_table", "read_yaml"]

M = TypeVar("M", bound=BaseModel)
FOLDER = Path(__file__).parent


def parse(model: type[M], entry: Any, path: Path, *within: str | int) -> M:
    """Return one entry as a typed fact.

    Args:
        model: Type of the fact.
        entry: As read from the file.
        path: The file.
        within: Where in the file the entry lies, for example its place in a list.

    Raises:
        ContentError: names file, line, entry and what is wrong.
    """
    try:
        return model.model_validate(entry)
    except ValidationError as error:
        name = entry.get("id", "?") if isinstance(entry, dict) else "?"
        problems = error.errors()[:4]
        told = "; ".join(f"{'.'.join(map(str, problem['loc']))}: {_words(problem)}" for problem in problems)
        line = line_of(path, *within, *problems[0]["loc"])
        raise ContentError(f"{path}, line {line}, entry {name!r}: {told}. Mend it there.") from None


def _words(problem: Any) -> str:
    if problem["type"] == "missing":
        return f"is missing; add {problem['loc'][-1]}: ... to the entry"
    return str(problem["msg"]).removeprefix("Value error, ")


def read_table(model: type[M], path: Path) -> dict[str, M]:
    """Return a file that holds a list of entries as facts by id. Raises ContentError for an id that stands twice."""
    entries = read_yaml(path)
    if not isinstance(entries, list):
        raise ContentError(f"{path}, line 1: expected a list of entries, got {type(entries).__name__}")
    facts: dict[str, M] = {}
    for index, entry in enumerate(entries):
        fact = parse(model, entry, path, index)
        name = str(getattr(fact, "id"))  # noqa: B009 - every table's model has an id
        if name in facts:
            line = line_of(path, index)
            raise ContentError(f"{path}, line {line}: id {name!r} stands twice; rename or remove one")
        facts[name] = fact
    return facts


def read_folder(model: type[M], folder: Path) -> dict[str, M]:
    """Return the entries of every file of a folder, in order of id. Raises ContentError for an id in two files."""
    found: dict[str, tuple[M, Path]] = {}
    for path in sorted(folder.glob("*.yaml")):
        for name, fact in read_table(model, path).items():
            if name in found:
                first = place_of_entry(found[name][1], name)
                raise ContentError(
                    f"{place_of_entry(path, name)}: id {name!r} stands in {first} too; rename or remove one"
                )
            found[name] = (fact, path)
    return {name: found[name][0] for name in sorted(found)}


def place_of_entry(where: Path, name: str, *keys: str | int) -> str:
    """Return "FILE, line N" of what lies under `keys` in the entry `name` of a table, or of a folder's tables."""
    for path in sorted(where.glob("*.yaml")) if where.is_dir() else [where]:
        for index, entry in enumerate(read_yaml(path)):
            if isinstance(entry, dict) and entry.get("id") == name:
                return f"{path}, line {line_of(path, index, *keys)}"
    return str(where)
