"""Typed answers: each field of a submission is compared with its gold by an executable rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from healthgym.errors import TaskError, nearest
from healthgym.tasks.items import ItemCredit, as_items, items_credit, pair_items
from healthgym.tasks.mentions import count_words, share_said
from healthgym.tasks.predicates import check, holds

Compare = Literal["exact", "set", "range", "ordinal", "code", "items", "mentions"]
MAX_ALIKE = 10
"""Most gold items that agree in all of `match`; finding the best pairing takes two to the power of them."""


@dataclass(frozen=True, kw_only=True)
class AnswerField:
    """The gold for one argument of the submit tool, or for one path of the end state.

    compare:
        exact: equal, text without regard to case; `accept` lists further right values.
        set: order-free; partial credit is the F1 of the items.
        range: a number within `tolerance` (absolute) of gold.
        ordinal: a place on `scale`; one step away earns `adjacent_credit`.
        code: a code such as ICD-10; a shared prefix of `prefix` characters counts as right, or earns
            `adjacent_credit` where that is above 0.
        items: a list of findings, each an object (a plain value is {"value": it}). Submitted and gold items pair when
            the parts named in `match` agree; each part is compared by its rule in `each` (AnswerField's own arguments).
            Credit is the F1 over items of the mean credit of their parts. A part a gold item lacks is not graded.
            Surplus items that meet `ignore`, such as further normal findings, cost nothing.
        mentions: a text that must state every phrase of gold (a phrase, or a tuple of which any will do); each phrase
            of `unwanted` it states costs as much as one left out, and more than `max_words` words earn 0.
    """

    gold: Any
    compare: Compare = "exact"
    accept: tuple[Any, ...] = ()
    tolerance: float = 0.0
    unit: str = ""
    scale: tuple[Any, ...] = ()
    adjacent_credit: float = 0.0
    prefix: int = 0
    weight: float = 1.0
    each: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    match: tuple[str, ...] = ()
    ignore: Mapping[str, Any] = field(default_factory=dict)
    unwanted: tuple[str | tuple[str, ...], ...] = ()
    max_words: int = 0
    """Most words of a `mentions` text; 0 for no limit."""

    def __post_init__(self) -> None:
        if self.gold is None or (isinstance(self.gold, str) and not self.gold.strip()):
            raise TaskError("an answer field has no gold; a task that cannot be graded is not loaded")
        if self.compare not in get_args(Compare):
            raise TaskError(f"No comparison {self.compare!r}.{nearest(str(self.compare), get_args(Compare))}")
        if self.compare == "ordinal" and self.gold not in self.scale:
            raise TaskError(f"gold {self.gold!r} is not on its scale {list(self.scale)}")
        if self.compare in ("set", "items", "mentions") and not isinstance(self.gold, list | tuple):
            raise TaskError(f"a {self.compare} answer needs a list as gold, got {type(self.gold).__name__}")
        if self.compare == "mentions" and not self.gold:
            raise TaskError("a mentions answer asks for no phrase; a task that cannot be graded is not loaded")
        if self.compare == "items":
            self._check_items()
        if self.weight <= 0:
            raise TaskError(f"an answer field's weight must be above 0, got {self.weight}")

    @property
    def example(self) -> Any:
        """A value that earns full marks, as an agent would submit it."""
        if self.compare == "mentions":
            return ". ".join(item if isinstance(item, str) else item[0] for item in self.gold)
        return self.gold

    def part(self, name: str, gold: Any) -> "AnswerField":
        """Return the rule for one part of one gold item."""
        return AnswerField(gold=gold, **self.each.get(name, {}))

    def _check_items(self) -> None:
        check(self.ignore)
        alike: dict[str, int] = {}
        for item in as_items(self.gold):
            lacking = [name for name in self.match if name not in item]
            if lacking:
                raise TaskError(f"gold item {dict(item)!r} lacks {lacking[0]!r}, by which items are matched")
            for name, value in item.items():
                self.part(name, value)
            key = repr([item[name] for name in self.match])
            alike[key] = alike.get(key, 0) + 1
        if max(alike.values(), default=0) > MAX_ALIKE:
            raise TaskError(f"{max(alike.values())} gold items agree in {self.match}; name more parts in match")


def grade_field(field: AnswerField, value: Any) -> float:
    """Return the credit in [0, 1] for `value` under one field's rule; None earns 0, except an empty set that is right."""
    if value is None:
        return 0.0
    if field.compare == "exact":
        return float(any(holds(value, gold) for gold in (field.gold, *field.accept)))
    if field.compare == "set":
        return _f1({_fold(item) for item in _items(value)}, {_fold(item) for item in field.gold})
    if field.compare == "range":
        number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
        return float(number is not None and abs(number - field.gold) <= field.tolerance + 1e-9)
    if field.compare == "ordinal":
        places = [_fold(item) for item in field.scale]
        if _fold(value) not in places:
            return 0.0
        distance = abs(places.index(_fold(value)) - places.index(_fold(field.gold)))
        return 1.0 if distance == 0 else field.adjacent_credit if distance == 1 else 0.0
    if field.compare == "items":
        return items_credit(grade_items(field, value), value, field.ignore)
    if field.compare == "mentions":
        is_short = isinstance(value, str) and (not field.max_words or count_words(value) <= field.max_words)
        return share_said(value, field.gold, field.unwanted) if is_short else 0.0
    code, gold = _code(value), [_code(item) for item in (field.gold, *field.accept)]
    if code in gold:
        return 1.0
    close = field.prefix and any(code[: field.prefix] == item[: field.prefix] for item in gold)
    return (field.adjacent_credit or 1.0) if close else 0.0


def grade_items(field: AnswerField, value: Any) -> list[ItemCredit]:
    """Return what every gold item of an `items` field earned, part by part."""
    given = [] if value is None else value
    return pair_items(
        field.gold, given, field.match, lambda name, gold, item: grade_field(field.part(name, gold), item)
    )


def grade_answer(fields: Mapping[str, AnswerField], submitted: Mapping[str, Any] | None) -> dict[str, float]:
    """Return the credit for every field; all 0 when nothing was submitted."""
    return {
        name: grade_field(field, submitted.get(name)) if submitted is not None else 0.0
        for name, field in fields.items()
    }


def _items(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) or not isinstance(value, Sequence) else list(value)


def _fold(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def _f1(given: set[Any], gold: set[Any]) -> float:
    if not given and not gold:
        return 1.0
    shared = len(given & gold)
    return 2 * shared / (len(given) + len(gold))


def _code(value: Any) -> str:
    return str(value).upper().replace(".", "").replace(" ", "")
