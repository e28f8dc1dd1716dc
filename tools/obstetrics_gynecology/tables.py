"""The data files of this folder."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent


@lru_cache(maxsize=16)
def table(name: str) -> Mapping[str, Any]:
    """Return a data file of this folder: its mapping, or its rows by id."""
    content = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return content if isinstance(content, dict) else {row["id"]: row for row in content}
