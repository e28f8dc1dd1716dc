"""The data tables beside the code, read once."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from healthgym.knowledge_base.data import read_data


@lru_cache(maxsize=32)
def table(name: str) -> Mapping[str, Any]:
    """Return the rows of `<name>.yaml` by id, or the mapping that it holds."""
    rows = read_data(Path(__file__).parent / f"{name}.yaml")
    return {row["id"]: row for row in rows} if isinstance(rows, list) else rows
