"""What an agent orders or examines, found among the free names of a case: one meant thing, or a question back."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from healthgym.content import read_yaml
from healthgym.errors import ToolError


@dataclass(frozen=True)
class Item:
    """One named part of a case's findings: a leaf, or a group with all that lies under it."""

    path: tuple[str, ...]
    text: str
    leaves: tuple[str, ...]
    """Fact keys of what the text tells."""

    @property
    def name(self) -> str:
        """The own name, readable."""
        return readable(self.path[-1])


def readable(name: str) -> str:
    """Return a key such as "Chest_X-Ray" or "bloodPressure" as words."""
    return re.sub(r"\s+", " ", re.sub(r"(?<=[a-z]{2})(?=[A-Z][a-z]{2})", " ", name.replace("_", " "))).strip()


def slug(path: Sequence[str]) -> str:
    """Return a path as part of a fact's key."""
    return ".".join(re.sub(r"[^a-z0-9]+", "_", readable(part).lower()).strip("_") or "x" for part in path)


def items_of(tree: Mapping[str, Any]) -> list[Item]:
    """Return every named part of nested findings, groups before what lies in them."""
    found: list[Item] = []

    def walk(node: Mapping[str, Any], path: tuple[str, ...]) -> None:
        for key, value in node.items():
            here = (*path, key)
            found.append(Item(here, _text(value), tuple(_leaves(value, here))))
            if isinstance(value, Mapping):
                walk(value, here)

    walk(tree, ())
    return [item for item in found if item.text]


def meant(request: str, items: Sequence[Item], *, groups_too: bool, kind: str) -> Item | None:
    """Return the one item that a request means, None when there is none.

    Raises:
        ToolError: The request is too vague, or could mean several; those are named.
    """
    wanted = _tokens(request)
    if not wanted or (not groups_too and wanted <= _words()["groups"]):
        raise ToolError(f"{request[:60]!r} is too vague. Name one {kind}.")
    usable = [item for item in items if groups_too or not _is_vague(item)]
    equal = [item for item in usable if wanted in _names(item)]
    equal = [item for item in equal if _can_be_of(wanted, item)]
    close = equal or [
        item for item in usable if _can_be_of(wanted, item) and any(_is_close(wanted, name) for name in _names(item))
    ]
    outer = [item for item in close if not any(_holds(other, item) for other in close)]
    if len(outer) > 1:
        names = ", ".join(sorted({" ".join(map(readable, item.path[-2:])) for item in outer})[:6])
        raise ToolError(f"{request[:60]!r} could mean several: {names}. Name one.")
    return outer[0] if outer else None


def _is_close(wanted: frozenset[str], name: frozenset[str]) -> bool:
    """Say whether an order is most of a name ("CT" of "CT chest"), or a name with words that change nothing."""
    if not name:
        return False
    return (wanted < name and len(wanted) * 2 >= len(name)) or (name < wanted and wanted - name <= _words()["harmless"])


def _can_be_of(wanted: frozenset[str], item: Item) -> bool:
    """Say whether order and item can be of one specimen: "blood culture" is not the culture under "Urine"."""
    specimens = _words()["specimens"]
    blood = frozenset(("blood", "serum", "plasma"))
    asked = {"blood" if word in blood else word for word in wanted & specimens}
    told = {"blood" if word in blood else word for word in _tokens(" ".join(item.path)) & specimens}
    return not asked or not told or bool(asked & told)


def _names(item: Item) -> list[frozenset[str]]:
    """Return the word sets that mean an item: its own name, and that with the names it lies under."""
    own = _tokens(item.path[-1])
    names = [own, *(_tokens(" ".join(item.path[place:])) for place in range(len(item.path) - 1))]
    return [name for name in names if name and own]


def _is_vague(item: Item) -> bool:
    tokens = _tokens(item.path[-1])
    return not tokens or tokens <= _words()["groups"]


def _holds(outer: Item, inner: Item) -> bool:
    return len(outer.path) < len(inner.path) and inner.path[: len(outer.path)] == outer.path


def _tokens(text: str) -> frozenset[str]:
    words = _words()
    plain = re.sub(r"\bx[\s-]?rays?\b", "xray", readable(text).lower())
    tokens: list[str] = []
    for word in re.findall(r"[^\W_]+", plain):
        tokens += words["abbreviations"].get(word, word).split()
    return frozenset(_singular(word) for word in tokens if word not in words["noise"])


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith(("ss", "is", "us")) else word


@cache
def _words() -> dict[str, Any]:
    words = read_yaml(Path(__file__).parent / "words.yaml")
    return {
        "abbreviations": words["abbreviations"],
        **{name: frozenset(words[name]) for name in ("noise", "harmless", "groups", "specimens")},
    }


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        parts = [(readable(key), _text(inner)) for key, inner in value.items()]
        return "; ".join(f"{name}: {text}" for name, text in parts if text)
    if isinstance(value, list):
        return ", ".join(filter(None, map(_text, value)))
    return "" if value is None else str(value).strip().rstrip(".")


def _leaves(value: Any, path: tuple[str, ...]) -> list[str]:
    if isinstance(value, Mapping):
        return [leaf for key, inner in value.items() for leaf in _leaves(inner, (*path, key))]
    return [slug(path)] if _text(value) else []
