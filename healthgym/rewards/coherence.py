"""Coherence: what the agent states was observed, with the same number and unit, and agrees with what it submits."""

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from healthgym.rewards.record import EpisodeRecord

_UNITS = (
    "mmhg|%|mg/dl|g/dl|mmol/l|meq/l|ng/ml|ng/l|pg/ml|ug/l|mcg/l|iu/l|u/l|ml/min|mg|mcg|ml|kg|years?|weeks?|hours?|minutes?|"
    "bpm|/min|°c|c\\b"
)
_CLAIM = re.compile(rf"(?<![\w.])(\d+(?:\.\d+)?)\s*({_UNITS})([\w/]?)", re.IGNORECASE)
_SHOWN_UNITS = rf"{_UNITS}|mg/l|g/l|[µμ]g/l|[uµμ]mol/l|nmol/l|l/min|mm|cm|ms|[µμ]g|g|l|days?|months?|seconds?"
_SHOWN = re.compile(rf"(?<![\w.])(\d+(?:\.\d+)?)(?![\w.]*\d)(?:[ \u00a0]?({_SHOWN_UNITS})(?![\w/]))?", re.IGNORECASE)
_SAME_UNIT = {
    "/min": "bpm", "c": "°c", "iu/l": "u/l", "meq/l": "mmol/l", "mcg": "µg", "μg": "µg", "mcg/l": "µg/l", "ug/l": "µg/l",
    "μg/l": "µg/l", "ng/ml": "µg/l", "pg/ml": "ng/l", "umol/l": "µmol/l", "μmol/l": "µmol/l",
}  # fmt: skip
"""Spellings of one unit, and units of equal size; mEq and mmol are the same of the ions that charts report in either."""
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_FILLER = r"(?:an?\s+|the\s+|most\s+|likely\s+|probably\s+)*"
_UNDECIDED = frozenset({"not", "no", "unclear", "uncertain", "unknown", "to", "based", "still"})


def coherence(record: EpisodeRecord) -> float:
    """Return the share of the agent's statements that hold; 1 when it stated nothing, 0 when nothing was submitted.

    Statements are numbers with a unit in the agent's prose, which must stand, with that number, in something it
    had been shown before, and mentions of the submitted fields ("ESI 3", "disposition: home"), which must agree with
    the submission. A number that was only ever shown with units must not be stated with plainly another one (5.1 mmol/L
    as 5.1 mg/dL); where it was shown without a unit too, any will do.
    """
    if record.submission is None:
        return 0.0
    spoken = [_text(message) if message.get("role") == "assistant" else None for message in record.messages]
    claims = [_CLAIM.findall(text) if text else [] for text in spoken]
    last_claim = max((place for place, made in enumerate(claims) if made), default=-1)
    seen: dict[float, set[str]] = defaultdict(set)
    verdicts: list[bool] = []
    for place in range(last_claim + 1):  # what is shown later holds nothing up
        if spoken[place] is None:
            for number, unit in _SHOWN.findall(_text(record.messages[place])):
                seen[float(number)].add(_unit(unit))
        verdicts += [
            float(number) in seen and (bool(rest) or _fits(_unit(unit), seen[float(number)]))
            for number, unit, rest in claims[place]
        ]
    last = next((text for text in reversed(spoken) if text), "")
    verdicts += _agreements(last, record.submission)
    return sum(verdicts) / len(verdicts) if verdicts else 1.0


def _unit(text: str) -> str:
    """Return a unit under one name; empty for none."""
    unit = text.lower()
    return _SAME_UNIT.get(unit, unit if unit in ("ms", "") else unit.removesuffix("s"))


def _fits(stated: str, shown: set[str]) -> bool:
    """Say whether a unit may be one of those shown: a bare number takes any, and "mg" may be short for "mg/dL"."""
    return any(not unit or unit == stated or stated in unit.split("/") or unit in stated.split("/") for unit in shown)


def _agreements(text: str, submission: Mapping[str, Any]) -> list[bool]:
    """Return a verdict for each submitted field that the agent's last prose mentions with a value."""
    verdicts = []
    for name, value in submission.items():
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float | str)
            or (isinstance(value, str) and len(value) > 60)
        ):
            continue
        words = r"[\s_-]+".join(map(re.escape, name.split("_")))
        if isinstance(value, str):
            pattern = rf"\b{words}\b\s*(?:is\b|=|:)\s*{_FILLER}([A-Za-z_]+|\d+(?:\.\d+)?)"
        else:
            pattern = rf"\b{words}\b\s*(?:is\b|=|:|of\b|level\b)?\s*(\d+(?:\.\d+)?)"
        found = re.search(pattern, text, re.IGNORECASE)
        if found is not None and found[1].lower() not in _UNDECIDED:
            verdicts.append(_same(found[1].lower(), value))
    return verdicts


def _same(stated: str, value: Any) -> bool:
    if isinstance(value, int | float):
        return stated[0].isdigit() and float(stated) == float(value)
    return value.lower().replace("_", " ").startswith(stated.replace("_", " "))


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = " ".join(str(block.get("text", "")) for block in content)
    return _THOUSANDS.sub("", content)
