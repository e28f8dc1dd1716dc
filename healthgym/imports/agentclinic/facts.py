"""What the actor of a case knows, as single facts that a question can reach."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from healthgym.errors import ContentError
from healthgym.imports.agentclinic.matching import readable

_SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=[A-Z0-9])")
_DENIED = re.compile(r"^(?:no|denies|denied|not|without|never|negative for)\b", re.IGNORECASE)
_AGE = re.compile(
    r"(\d{1,3}(?:\.\d+)?)[\s-]*(year|yr|month|week|day)s?\b|\b(?:aged?|age:)\s*(\d{1,3})\b", re.IGNORECASE
)
_OLD = re.compile(r"(\d{1,3}(?:\.\d+)?)[\s-]*(year|yr|month|week|day)s?[\s-]*old()\b", re.IGNORECASE)
"""An age in running text, where "a 1-month history" is none."""
_FEMALE = re.compile(r"\b(?:female|woman|girl|lady|she|her)\b", re.IGNORECASE)
_MALE = re.compile(r"\b(?:male|man|boy|gentleman|he|his|him)\b", re.IGNORECASE)
_YEARS = {"year": 1.0, "yr": 1.0, "month": 1 / 12, "week": 7 / 365.25, "day": 1 / 365.25}
ASKED_OF_ALL = {
    "history": "brings bring today problem complaint matter wrong help start started begin happen onset long duration story",
    "symptoms": "brings bring today problem complaint matter wrong help symptom symptoms",
    "past": "past medical history illness condition disease diagnosed surgery operation hospital",
    "social": "social work job occupation live home smoke smoking tobacco alcohol drink drugs lifestyle",
    "family": "family parents mother father siblings relatives run",
    "review": "symptom symptoms noticed systems",
    "medications": "medication medicine tablet pill drug prescription take",
    "allergies": "allergy allergic reaction",
}
"""Words of questions that any patient may be asked, by the part of the history that answers them."""
_PARTS = {
    "history": "history", "past_medical_history": "past", "social_history": "social", "family_history": "family",
    "review_of_systems": "review", "medications": "medications", "current_medications": "medications", "allergies": "allergies",
}  # fmt: skip
_MENTIONS = {
    "past": re.compile(r"history|illness|surg|medical|diagnos|condition", re.IGNORECASE),
    "medications": re.compile(r"medic|tablet|pill|prescri|\btak(?:es|ing)\b|\bdrugs?\b", re.IGNORECASE),
    "allergies": re.compile(r"allerg", re.IGNORECASE),
}


def facts_of(actor: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the facts of an actor: id, text, the words of questions that reach it, and whether it is a denial."""
    found: list[dict[str, Any]] = []
    for key, value in actor.items():
        if key == "Demographics":
            continue
        if key == "Symptoms":
            found += _symptoms(value)
            continue
        part = _PARTS.get(key.lower(), "")
        words = ASKED_OF_ALL.get(part, readable(key).lower())
        base = part or re.sub(r"[^a-z0-9]+", "_", key.lower()).strip("_") or "told"
        found += [_fact(f"{base}_{n}", text, words) for n, text in enumerate(_sentences(value), 1)]
    told = " ".join(fact["text"] for fact in found)
    for part, pattern in _MENTIONS.items():
        words = ASKED_OF_ALL[part]
        if part == "past" and any(fact["id"].startswith("past_") for fact in found):
            continue
        saying = [fact for fact in found if part != "past" and pattern.search(fact["text"])]
        for fact in saying:
            fact["topics"] = f"{fact['topics']} {words}"
        if not saying and not (part == "past" and pattern.search(told)):
            found.append(
                _fact(f"unrecorded_{part}", f"I can't tell you anything about {_LAY[part]}.", words, own=False)
            )
    return _distinct(found)


_LAY = {"past": "earlier illnesses", "medications": "medicines", "allergies": "allergies"}


def demographics(texts: list[str]) -> tuple[float, str]:
    """Return age in years and sex from the first text that tells each; the first is the demographics.

    Raises:
        ContentError: No text tells the age, or none tells the sex.
    """
    patterns = (_AGE, *(_OLD for _ in texts[1:]))
    ages = (_age(text, pattern) for text, pattern in zip(texts, patterns, strict=True))
    age = next((found for found in ages if found is not None), None)
    sex = next((found for text in texts for found in [_sex(text)] if found), "")
    if age is None or not sex:
        lacking = "age" if age is None else "sex (female or male)"
        raise ContentError(f"neither Demographics nor History tells the {lacking}; add it to Demographics")
    return age, sex


def is_english_script(text: str) -> bool:
    """Say whether most letters are Latin: questions are matched by their English words."""
    letters = [letter for letter in text if letter.isalpha()]
    return not letters or sum(letter.isascii() for letter in letters) >= 0.8 * len(letters)


def _age(text: str, pattern: re.Pattern[str]) -> float | None:
    found = pattern.search(text)
    if found is None:
        return 0.0 if re.search(r"\bnew-?born\b", text, re.IGNORECASE) else None
    if found[3]:
        return float(found[3])
    return round(float(found[1]) * _YEARS[found[2].lower()], 2)


def _sex(text: str) -> str:
    female, male = _FEMALE.search(text), _MALE.search(text)
    if female and male:
        return "female" if female.start() < male.start() else "male"
    return "female" if female else "male" if male else ""


def _symptoms(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, Mapping):
        value = {"Secondary_Symptoms": value}
    found = []
    for key, inner in value.items():
        kind = "complaint" if key.lower().startswith("primary") else "symptom"
        texts = list(_sentences(inner))
        words = ASKED_OF_ALL["symptoms"] if kind == "complaint" else ""
        found += [_fact(f"{kind}_{n}", text, words) for n, text in enumerate(texts, 1)]
        if kind == "symptom" and len(texts) > 1:
            found.append(_fact("further_symptoms", "; ".join(texts), "symptom symptoms else", own=False))
        elif kind == "symptom" and texts:
            found[-1]["topics"] += " symptom symptoms"
    return found


def _sentences(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            for text in _sentences(inner):
                yield text if isinstance(inner, list | Mapping) else f"{readable(key)}: {text}"
    elif isinstance(value, list):
        for inner in value:
            yield from _sentences(inner)
    elif value is not None:
        plain = re.sub(r"\*+|(?:^|\s)-\s", " ", str(value))
        yield from (" ".join(part.split()) for part in _SENTENCE.split(plain) if part.strip(" .-"))


def _fact(fact_id: str, text: str, words: str, *, own: bool = True) -> dict[str, Any]:
    content = " ".join(dict.fromkeys(re.findall(r"[a-z]{3,}", text.lower()))) if own else ""
    return {"id": fact_id, "text": text, "topics": f"{words} {content}".strip(), "present": not _DENIED.match(text)}


def _distinct(facts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    seen: dict[str, int] = {}
    for fact in facts:
        seen[fact["id"]] = seen.get(fact["id"], 0) + 1
        if seen[fact["id"]] > 1:
            fact["id"] = f"{fact['id']}_again_{seen[fact['id']]}"
    return facts
