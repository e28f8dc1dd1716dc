"""Reads the parts of a Google-style docstring that a tool's schema needs."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_SECTION = re.compile(r"^(Args|Arguments|Returns|Raises|Yields|Example|Examples|Note|Notes|Source):\s*$")
_ARGUMENT = re.compile(r"^\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s*(.*)$")


@dataclass(frozen=True)
class Docstring:
    """What a docstring says: the text before any section, and a line per argument."""

    description: str
    arguments: dict[str, str] = field(default_factory=dict)


def parse_docstring(function: Callable[..., Any]) -> Docstring:
    """Return the description and argument texts of `function`'s docstring, white space folded."""
    lines = inspect.cleandoc(function.__doc__ or "").splitlines()
    description: list[str] = []
    arguments: dict[str, str] = {}
    section, current = "", ""
    for line in lines:
        header = _SECTION.match(line)
        if header:
            section, current = header[1], ""
        elif not section:
            description.append(line)
        elif section in ("Args", "Arguments") and line.strip():
            found = _ARGUMENT.match(line.strip())
            if found and len(line) - len(line.lstrip()) <= 4:
                current, arguments[found[1]] = found[1], found[2]
            elif current:
                arguments[current] += " " + line.strip()
    return Docstring(
        " ".join(" ".join(description).split()), {name: " ".join(text.split()) for name, text in arguments.items()}
    )
