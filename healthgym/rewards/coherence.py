"""Coherence: what the agent states was observed, with the same number and unit, and agrees with what it submits."""

import re
from collections.abc import Mapping
from typing import Any

from healthgym.rewards.record import EpisodeRecord

_UNITS = (
    "mmhg|%|mg/dl|g/dl|mmol/l|meq/l|ng/ml|ng/l|pg/ml|ug/l|mcg/l|iu/l|u/l|ml/min|mg|mcg|ml|kg|years?|weeks?|hours?|minutes?|"
    "bpm|/min|°c|c\\b"
)
_CLAIM = re.compile(rf"(?<![\w.])(\d+(?:\.\d+)?)\s*({_UNITS})", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\d)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_FILLER = r"(?:an?\s+|the\s+|most\s+|likely\s+|probably\s+)*"
_UNDECIDED = frozenset({"not", "no", "unclear", "uncertain", "unknown", "to", "based", "still"})


def coherence(record: EpisodeRecord) -> float:
    """Return the share of the agent's statements that hold; 1 when it stated nothing, 0 when nothing was submitted.

    Statements are numbers with a unit in the agent's prose, which must stand, with that number, in something it
    had been shown before, and mentions of the submitted fields ("ESI 3", "disposition: home"), which must agree with
    the submission.
    """
    if record.submission is None:
        return 0.0
    seen: set[float] = set()
    verdicts: list[bool] = []
    last = ""
    for message in record.messages:
        text = _text(message)
        if message.get("role") != "assistant":
            seen.update(float(number) for number in _NUMBER.findall(text))
            continue
        verdicts += [float(number) in seen for number, _ in _CLAIM.findall(text)]
        last = text or last
    verdicts += _agreements(last, record.submission)
    return sum(verdicts) / len(verdicts) if verdicts else 1.0


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
