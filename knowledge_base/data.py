"""Reads a data file of a domain and checks that the drugs and laboratory tests it names exist."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from healthgym.content import line_of, read_yaml
from healthgym.errors import ContentError, NotRegistered

from . import load

_KINDS = {"drug": "drug", "drugs": "drug", "analyte": "analyte", "analytes": "analyte"}
"""Keys under which a name, or a list of names, is one of the knowledge base's."""
Keys = tuple[str | int, ...]


def read_data(path: Path) -> Any:
    """Return the content of a domain's data file.

    Raises:
        ContentError: the file is not valid YAML, or under drug, drugs, analyte or analytes it names what the knowledge base
            does not have (a class of drugs is allowed); names file, line and the nearest name.
    """
    content = read_yaml(path)
    for keys, kind, name in _names(content, ()):
        known = _known(kind)
        if name not in known:
            raise ContentError(f"{path}, line {line_of(path, *keys)}: {NotRegistered.named(kind, name, known)}")
    return content


@lru_cache(maxsize=2)
def _known(kind: str) -> frozenset[str]:
    kb = load()
    if kind == "analyte":
        return frozenset(kb.analytes)
    return frozenset({*kb.drugs, *(name for drug in kb.drugs.values() for name in drug.classes)})


def _names(content: Any, keys: Keys) -> Iterator[tuple[Keys, str, str]]:
    """Yield (where, kind, name) for every name of a drug or a laboratory test."""
    if isinstance(content, list):
        for index, item in enumerate(content):
            yield from _names(item, (*keys, index))
    elif isinstance(content, dict):
        for key, item in content.items():
            kind = _KINDS.get(str(key))
            listed = item if isinstance(item, list) else [item]
            for index, name in enumerate(listed):
                if kind and isinstance(name, str):
                    yield (*keys, key, index), kind, name
            yield from _names(item, (*keys, key))
