"""A patient's resources as plain rows: what the tools show and the questions are computed from."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from healthgym.errors import ContentError
from healthgym.imports.fhir.reading import Resource, Scope
from healthgym.imports.report import ImportLog

Row = dict[str, Any]
MALFORMED = (AttributeError, KeyError, TypeError, ValueError)
"""What reading raises where foreign data has another shape than the format says."""
ACTIVE_PROBLEM = ("active", "recurrence", "relapse")
_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2}(T\S+)?)?)?$")
_VOID = ("entered-in-error", "cancelled", "refuted", "not-done")
SECTIONS = {
    "Encounter": "encounters", "Condition": "conditions", "MedicationRequest": "medications", "AllergyIntolerance": "allergies",
    "Observation": "observations", "Procedure": "procedures", "Immunization": "immunizations", "CarePlan": "care_plans",
}  # fmt: skip


def record_of(
    patient: Resource, resources: Sequence[Resource], scope: Scope, log: ImportLog
) -> tuple[dict[str, Any], list[Resource]]:
    """Return {"patient": ..., section: rows by date}, and the resources that were read.

    Names, addresses and identifiers of the person are left out, and so are resources of another shape than R4's.

    Raises:
        ContentError: The patient has no birth date, or a gender other than female or male.
    """
    birth, sex = str(patient.get("birthDate") or ""), str(patient.get("gender") or "")
    if not _DATE.match(birth):
        raise ContentError(f"Patient.birthDate must be a date, got {birth!r}")
    if sex not in ("female", "male"):
        raise ContentError(f"Patient.gender must be female or male for a chart, got {sex!r}")
    record: dict[str, Any] = {
        "patient": {"birth_date": birth, "sex": sex, "died": str(patient.get("deceasedDateTime") or "")[:10]}
    }
    record |= {section: [] for section in SECTIONS.values()}
    read: list[Resource] = []
    for resource in resources:
        kind = resource["resourceType"]
        try:
            is_struck, row = is_void(resource), _MAKE[kind](resource, scope, log)
        except MALFORMED:
            log.left_out[f"{kind} resources not shaped as R4 says"] += 1
            continue
        read.append(resource)
        if is_struck:
            log.left_out["entered in error or not done"] += 1
            continue
        if not row["name"]:
            log.left_out[f"{kind} resources without a name"] += 1
            continue
        if not row["date"]:
            log.left_out["entries without a readable date"] += 1
        elif len(row["date"]) < 10:
            log.left_out["partial dates: shown, but no question rests on them"] += 1
        record[SECTIONS[kind]].append(row)
    for section in SECTIONS.values():
        record[section].sort(key=lambda row: (row["at"] or row["date"], row["name"], str(row.get("value"))))
    return record, read


def is_void(resource: Resource) -> bool:
    """Say whether a resource says of itself that it does not hold, or asks that something not be done."""
    return (
        resource.get("doNotPerform") is True
        or str(resource.get("status")) in _VOID
        or code_of(resource.get("verificationStatus")) in _VOID
    )


def name_of(concept: Any) -> str:
    """Return the text of a codeable concept, else the first display, else the first code."""
    if not isinstance(concept, Mapping):
        return ""
    codings = [coding for coding in concept.get("coding") or [] if isinstance(coding, Mapping)]
    texts = [
        concept.get("text"),
        *(coding.get("display") for coding in codings),
        *(coding.get("code") for coding in codings),
    ]
    return next((clean(text) for text in texts if isinstance(text, str) and clean(text)), "")


def code_of(concept: Any) -> str:
    """Return the first code of a codeable concept, or ''."""
    codings = concept.get("coding") or [] if isinstance(concept, Mapping) else []
    return next((str(coding["code"]) for coding in codings if isinstance(coding, Mapping) and coding.get("code")), "")


def clean(text: str) -> str:
    """Return a text without invisible characters and with single spaces."""
    visible = "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
    return " ".join(visible.split())


def rounded(value: float) -> float:
    """Return a measured value as the chart shows it: 2 decimals, below 1 four."""
    return round(float(value), 2 if abs(value) >= 1 else 4)


def inner(holder: Any, key: str) -> Resource:
    """Return the object under a key, an empty one where there is none."""
    found = holder.get(key) if isinstance(holder, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _dated(text: Any) -> dict[str, str]:
    """Return the date as written (perhaps only a year) and, where it is whole, the moment in UTC that orders rows."""
    text = str(text or "")
    if not _DATE.match(text):
        return {"date": "", "at": ""}
    if len(text) < 10:
        return {"date": text, "at": ""}
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return {"date": "", "at": ""}
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return {"date": text[:10], "at": moment.isoformat()}


def _encounter(resource: Resource, scope: Scope, log: ImportLog) -> Row:
    kinds = [item for item in resource.get("type") or [] if isinstance(item, Mapping)]
    kind = inner(resource, "class")
    reasons = [name_of(item) for item in resource.get("reasonCode") or []]
    return {
        "name": name_of(kinds[0]) if kinds else str(kind.get("display") or "encounter"),
        "class": str(kind.get("code") or "unknown"),
        "reason": ", ".join(filter(None, reasons)),
        **_dated(inner(resource, "period").get("start")),
    }


def _condition(resource: Resource, scope: Scope, log: ImportLog) -> Row:
    status = code_of(resource.get("clinicalStatus")) or "unknown"
    return {
        "name": name_of(resource.get("code")),
        "status": status,
        "active": status in ACTIVE_PROBLEM,
        "ended": str(resource.get("abatementDateTime") or "")[:10],
        **_dated(resource.get("onsetDateTime") or resource.get("recordedDate")),
    }


def _medication(resource: Resource, scope: Scope, log: ImportLog) -> Row:
    reason = None
    for reference in resource.get("reasonReference") or []:
        reason = scope.follow(reference, resource)
        if reason is None:
            log.left_out["dangling references"] += 1
        else:
            break
    status = str(resource.get("status") or "unknown")
    return {
        "name": medicine_name(resource, scope, log),
        "status": status,
        "active": status == "active",
        "for": name_of(reason.get("code")) if reason else "",
        "for_active": code_of(reason.get("clinicalStatus")) in ACTIVE_PROBLEM if reason else None,
        **_dated(resource.get("authoredOn")),
    }


def medicine_name(resource: Resource, scope: Scope, log: ImportLog | None = None) -> str:
    """Return the medicine of a request: coded, contained, or in a resource of its own."""
    coded = name_of(resource.get("medicationCodeableConcept"))
    reference = resource.get("medicationReference")
    if coded or not isinstance(reference, Mapping):
        return coded
    target = scope.follow(reference, resource)
    if target is None and log is not None:
        log.left_out["dangling references"] += 1
    return name_of(target.get("code")) if target else clean(str(reference.get("display") or ""))


def _allergy(resource: Resource, scope: Scope, log: ImportLog) -> Row:
    status = code_of(resource.get("clinicalStatus")) or "unknown"
    return {
        "name": name_of(resource.get("code")),
        "status": status,
        "active": status == "active",
        "criticality": str(resource.get("criticality") or ""),
        **_dated(resource.get("recordedDate")),
    }


def _observation(resource: Resource, scope: Scope, log: ImportLog) -> Row:
    concept = resource.get("code")
    parts = [
        {"name": name_of(part.get("code")), **_value(part, log)}
        for part in resource.get("component") or []
        if isinstance(part, Mapping)
    ]
    return {
        "name": name_of(concept),
        "code": code_of(concept) or name_of(concept),
        "parts": parts,
        **_value(resource, log, counted=not parts),
        **_dated(
            resource.get("effectiveDateTime")
            or inner(resource, "effectivePeriod").get("start")
            or resource.get("issued")
        ),
    }


def _value(holder: Resource, log: ImportLog, *, counted: bool = True) -> Row:
    quantity = holder.get("valueQuantity")
    if isinstance(quantity, Mapping) and isinstance(quantity.get("value"), int | float):
        unit = str(quantity.get("unit") or quantity.get("code") or "")
        if not unit:
            log.left_out["values without a unit: shown, but no question rests on them"] += 1
        if quantity.get("comparator"):
            return {"value": f"{quantity['comparator']} {quantity['value']:g}", "unit": unit}
        return {"value": rounded(quantity["value"]), "unit": unit}
    text = name_of(holder.get("valueCodeableConcept")) or holder.get("valueString") or holder.get("valueDateTime")
    for key in ("valueInteger", "valueBoolean"):
        text = holder[key] if text is None and key in holder else text
    if not text and counted:
        log.left_out["observations without a value"] += 1
    return {"value": clean(str(text)) if text else None, "unit": ""}


def _procedure(resource: Resource, scope: Scope, log: ImportLog) -> Row:
    when = resource.get("performedDateTime") or inner(resource, "performedPeriod").get("start")
    return {"name": name_of(resource.get("code")), **_dated(when)}


def _immunization(resource: Resource, scope: Scope, log: ImportLog) -> Row:
    return {"name": name_of(resource.get("vaccineCode")), **_dated(resource.get("occurrenceDateTime"))}


def _care_plan(resource: Resource, scope: Scope, log: ImportLog) -> Row:
    kinds = [name_of(item) for item in resource.get("category") or []]
    done = [
        name_of(inner(item, "detail").get("code"))
        for item in resource.get("activity") or []
        if isinstance(item, Mapping)
    ]
    status = str(resource.get("status") or "unknown")
    return {
        "name": clean(str(resource.get("title") or "")) or next(filter(None, kinds), ""),
        "status": status,
        "active": status == "active",
        "activities": ", ".join(dict.fromkeys(filter(None, done))),
        **_dated(inner(resource, "period").get("start")),
    }


_MAKE = {
    "Encounter": _encounter, "Condition": _condition, "MedicationRequest": _medication, "AllergyIntolerance": _allergy,
    "Observation": _observation, "Procedure": _procedure, "Immunization": _immunization, "CarePlan": _care_plan,
}  # fmt: skip
