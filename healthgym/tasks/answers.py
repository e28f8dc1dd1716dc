"""Typed answers: each field of a submission is compared with its gold by an executable rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from healthgym.errors import TaskError
from healthgym.tasks.predicates import holds

Compare = Literal["exact", "set", "range", "ordinal", "code"]


@dataclass(frozen=True, kw_only=True)
class AnswerField:
    """The gold for one argument of the submit tool.

    compare:
        exact: equal, text without regard to case; `accept` lists further right values.
        set: order-free; partial credit is the F1 of the items.
        range: a number within `tolerance` (absolute) of gold.
        ordinal: a place on `scale`; one step away earns `adjacent_credit`.
        code: a code such as ICD-10; a shared prefix of `prefix` characters counts as right.
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

    def __post_init__(self) -> None:
        if self.gold is None or (isinstance(self.gold, str) and not self.gold.strip()):
            raise TaskError("an answer field has no gold; a task that cannot be graded is not loaded")
        if self.compare == "ordinal" and self.gold not in self.scale:
            raise TaskError(f"gold {self.gold!r} is not on its scale {list(self.scale)}")
        if self.compare == "set" and (isinstance(self.gold, str) or not isinstance(self.gold, Sequence)):
            raise TaskError(f"a set answer needs a list as gold, got {type(self.gold).__name__}")
        if self.weight <= 0:
            raise TaskError(f"an answer field's weight must be above 0, got {self.weight}")


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
    code, gold = _code(value), [_code(item) for item in (field.gold, *field.accept)]
    return float(any(code == item or (field.prefix and code[: field.prefix] == item[: field.prefix]) for item in gold))


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
