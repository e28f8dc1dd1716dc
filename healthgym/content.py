"""Reads what authors write, data and code, and says in which file and line it is wrong."""

import importlib
import inspect
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import yaml

from healthgym.errors import ContentError, HealthgymError, MissingDependency

E = TypeVar("E", bound=HealthgymError)
_FAST = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PLACED = re.compile(r"^(.+?, line \d+): (.+)$", re.DOTALL)


class _Loader(_FAST):  # type: ignore[misc, valid-type]
    """Refuses a key that stands twice in one mapping, of which plain YAML silently keeps the last."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in keys:
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} stands twice", key.start_mark)
            keys.add(str(key.value))
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file. Raises ContentError, with line, when it is not valid or a key stands twice."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        what = getattr(error, "problem", None) or str(error)
        raise ContentError(f"{path}, line {line}: not valid YAML: {what}. Mend it there.") from None


def line_of(path: Path, *keys: str | int) -> int:
    """Return the line of what lies under `keys` in a YAML file, or of the last of them that is there; from 1."""
    node = yaml.compose(path.read_text(encoding="utf-8"), Loader=_FAST)
    line = 0
    for key in keys:
        if isinstance(node, yaml.MappingNode):
            found = next(((name.start_mark, value) for name, value in node.value if name.value == str(key)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
            found = (node.value[key].start_mark, node.value[key])
        else:
            found = None
        if found is None:
            break
        line, node = found[0].line, found[1]
    return line + 1


def import_part(module: str, path: Path) -> ModuleType:
    """Import a domain's module. Raises ContentError naming file and line of whatever its author's code raises."""
    if not path.is_file():
        raise ContentError(f"{path}: missing. Write it, or start anew with: healthgym new domain DIR")
    try:
        return importlib.import_module(module)
    except MissingDependency:
        raise
    except HealthgymError as error:
        raise placed(error, path.parent) from error
    except Exception as error:  # whatever an author's file raises; finding the line is the purpose
        where = place_of(error, path.parent) or str(path)
        told = error.msg if isinstance(error, SyntaxError) else error
        raise ContentError(f"{where}: {type(error).__name__}: {told}. Mend it there.") from error


def place_of(error: BaseException, folder: Path) -> str:
    """Return "FILE, line N" of the innermost code of `folder` that an error passed through, or ''."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno or 1}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename).is_relative_to(folder):
            return f"{frame.filename}, line {frame.lineno}"
    return ""


def placed(error: E, folder: Path) -> E:
    """Return an error whose message begins with its place in `folder`, unless it names a line already."""
    where = place_of(error, folder)
    if not where or split_place(str(error))[0]:
        return error
    return type(error)(f"{where}: {error}")


def split_place(message: str) -> tuple[str, str]:
    """Return the place that a message begins with, '' when there is none, and the rest."""
    found = _PLACED.match(message)
    return (found[1], found[2]) if found else ("", message)


def place_of_name(name: str, folder: Path) -> str:
    """Return "FILE, line N" of the first line in a folder's code or data where a quoted text begins with a name, or ''."""
    quoted = re.compile(rf"""["']{re.escape(name)}\b""")
    for path in sorted(path for kind in ("*.py", "*.yaml") for path in folder.rglob(kind)):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if quoted.search(line):
                return f"{path}, line {number}"
    return ""


def place_of_function(function: Callable[..., Any]) -> str:
    """Return "FILE, line N" of where a function is written, or '' for what is not written in Python."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}, line {code.co_firstlineno}" if code is not None else ""
