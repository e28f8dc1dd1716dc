"""The data files of this folder, and names as people write them."""

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from healthgym.errors import ToolError, nearest
from healthgym.knowledge_base import load
from healthgym.knowledge_base.data import read_data
from healthgym.knowledge_base.reading import read_yaml
from healthgym.knowledge_base.schema import Condition

FOLDER = Path(__file__).parent
_WORD = re.compile(r"[a-z0-9]+")


@lru_cache(maxsize=16)
def table(name: str) -> Mapping[str, dict[str, Any]]:
    """Return a data file of this folder as rows by id."""
    return {row["id"]: row for row in read_data(FOLDER / f"{name}.yaml")}


@lru_cache(maxsize=1)
def prompts() -> Mapping[str, Mapping[str, Any]]:
    """Return the wording of the prompts by family and split."""
    return read_yaml(FOLDER / "prompts.yaml")


def fold(name: str) -> str:
    """Return a name in the form of an id."""
    return "_".join(name.lower().replace("-", " ").replace("_", " ").split())


def word_list(text: str) -> list[str]:
    """Return the lower-case words of a text or id."""
    return _WORD.findall(text.lower())


@lru_cache(maxsize=1)
def _conditions_by_name() -> Mapping[str, Condition]:
    return {
        fold(name): condition
        for condition in load().conditions.values()
        for name in (*condition.aliases, condition.name, condition.id)
    }


def known_condition(name: str) -> Condition:
    """Return a condition by id, name or alias. Raises ToolError, offering the nearest, when there is none."""
    found = _conditions_by_name().get(fold(name))
    if found is None:
        raise ToolError(f"No condition {name[:60]!r}.{nearest(fold(name[:60]), load().conditions)}")
    return found


def row_of(table_name: str, condition: Condition, missing: str) -> dict[str, Any]:
    """Return a condition's row of a table. Raises ToolError saying `missing` when there is none."""
    row = table(table_name).get(condition.id)
    if row is None:
        raise ToolError(f"{missing} for {condition.id}.")
    return row


@lru_cache(maxsize=1)
def managements() -> frozenset[str]:
    """Return the ids of what may come first."""
    return frozenset(row["management"] for row in table("work_up").values())


@lru_cache(maxsize=1)
def orderable() -> frozenset[str]:
    """Return the tests that may come next, and none."""
    return frozenset({"none", *load().analytes, *load().studies})
