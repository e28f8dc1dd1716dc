"""The data files of this folder."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from healthgym.knowledge_base.data import read_data

FOLDER = Path(__file__).parent


@lru_cache(maxsize=16)
def table(name: str) -> Mapping[str, Any]:
    """Return a data file of this folder: its mapping, or its rows by id."""
    content = read_data(FOLDER / f"{name}.yaml")
    return content if isinstance(content, dict) else {row["id"]: row for row in content}
