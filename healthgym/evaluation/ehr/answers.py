"""Typed answers: what was submitted, brought to one form, and the rule it is compared with gold by."""

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

from healthgym.content import read_yaml
from healthgym.evaluation.ehr.schema import FOLDER
from healthgym.tasks import AnswerField, grade_field

Kind = Literal["number", "count", "score", "time", "yes_no", "code", "category"]
Value = float | int | str | None
"""None where nothing was measured."""
NOT_MEASURED = "not measured"
WRONG = "(unreadable)"
WRONG_UNIT = "(other unit)"
SCORER = "ehr-typed-1"
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_TIME = re.compile(r"(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2})(:\d{2})?(\.0+)?")


def canonical(kind: str, unit: str, value: Any, given_unit: str = "") -> float | str:
    """Return a submission in the form gold has: a number in `unit`, a time to the minute, or text.

    What cannot be read as the kind is WRONG; a number in a unit that is missing or cannot be turned into `unit` exactly
    is WRONG_UNIT. Counts, scores, times, codes and words carry no unit, and one that is given is not looked at.
    """
    if isinstance(value, str) and " ".join(value.split()).casefold() == NOT_MEASURED:
        return NOT_MEASURED
    if kind in ("number", "count", "score"):
        number = _number(value)
        if number is None:
            return WRONG
        if kind != "number" or not unit:
            return number
        factor = _factors(unit).get(_folded(given_unit))
        return WRONG_UNIT if factor is None else number * factor
    if kind == "yes_no":
        text = {True: "yes", False: "no"}.get(value) if isinstance(value, bool) else str(value).strip().casefold()
        return text if text in ("yes", "no") else WRONG
    if isinstance(value, bool):
        return WRONG
    if kind == "time":
        match = _TIME.fullmatch(str(value).strip())
        return f"{match[1]} {match[2]}" if match else WRONG
    if kind == "code":
        return (_plain_number(value) if isinstance(value, float) else str(value)).strip().upper().replace(
            ".", ""
        ) or WRONG
    return " ".join(str(value).split()).casefold() or WRONG


def gold_field(kind: str, unit: str, gold: Value, tolerance: float) -> AnswerField:
    """Return the rule that the canonical form of a submission is graded by."""
    if gold is None:
        return AnswerField(gold=NOT_MEASURED)
    if kind in ("number", "count", "score"):
        return AnswerField(gold=float(gold), compare="range", tolerance=tolerance, unit=unit)
    return AnswerField(gold=canonical(kind, unit, gold, unit))


def grade_submission(content: Mapping[str, Any], submission: Mapping[str, Any]) -> float:
    """Return 1.0 or 0.0 for a submission ({"value": ..., "unit": ...}) to an item with this content."""
    form = canonical(content["kind"], content["unit"], submission.get("value"), str(submission.get("unit") or ""))
    return grade_field(gold_field(content["kind"], content["unit"], content["gold"], content["tolerance"]), form)


def as_text(content: Mapping[str, Any]) -> str:
    """Return an item's gold as it would be written: "1.9 mmol/L", "not measured"."""
    gold = content["gold"]
    if gold is None:
        return NOT_MEASURED
    text = _plain_number(gold) if isinstance(gold, float) else str(gold)
    return f"{text} {content['unit']}".strip()


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    return float(value) if isinstance(value, str) and _NUMBER.fullmatch(value.strip()) else None


def _plain_number(value: float) -> str:
    return f"{value:.10g}"


@lru_cache(maxsize=64)
def _factors(unit: str) -> Mapping[str, float]:
    known = _all_units().get(unit, {})
    return {**{_folded(name): float(factor) for name, factor in known.items()}, _folded(unit): 1.0}


@lru_cache(maxsize=1)
def _all_units() -> Mapping[str, Mapping[str, float]]:
    units: Mapping[str, Mapping[str, float]] = read_yaml(FOLDER / "units.yaml")
    return units


def _folded(unit: str) -> str:
    return "".join(unit.split()).casefold()
