"""The second query: every answer again, from the resources themselves and not from the rows of the chart."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from healthgym.imports.fhir.reading import Resource, Scope
from healthgym.imports.fhir.record import clean, medicine_name


def answer_again(family: str, asks: Mapping[str, Any], resources: Sequence[Resource], scope: Scope) -> dict[str, Any]:
    """Return the answer to a question, by argument of the submission, computed from FHIR resources."""
    valid = [resource for resource in resources if not _is_struck(resource)]
    of = {
        kind: [each for each in valid if each["resourceType"] == kind]
        for kind in {each["resourceType"] for each in valid}
    }
    match family:
        case "active_medicines":
            return {
                "names": _sorted(
                    medicine_name(each, scope)
                    for each in of.get("MedicationRequest", [])
                    if each.get("status") == "active"
                )
            }
        case "active_problems":
            return {"names": _sorted(_label(each.get("code")) for each in of.get("Condition", []) if _is_active(each))}
        case "active_allergies":
            names = (_label(each.get("code")) for each in of.get("AllergyIntolerance", []) if _status(each) == "active")
            return {"names": _sorted(names)}
        case "active_care_plans":
            names = (
                clean(each.get("title") or "") or _label((each.get("category") or [None])[0])
                for each in of.get("CarePlan", [])
                if each.get("status") == "active"
            )
            return {"names": _sorted(names)}
        case "outlived_medicines":
            return {"names": _outlived(of.get("MedicationRequest", []), scope)}
        case "encounter_count":
            days = [
                each["period"]["start"][:10]
                for each in of.get("Encounter", [])
                if each.get("class", {}).get("code", "unknown") == asks["class"]
            ]
            return {"value": float(sum(asks["start"] <= day <= asks["end"] for day in days))}
        case "vaccine_doses":
            return _count(
                [
                    each["occurrenceDateTime"]
                    for each in of.get("Immunization", [])
                    if _label(each.get("vaccineCode")) == asks["name"]
                ]
            )
        case "procedure_count":
            done = [each for each in of.get("Procedure", []) if _label(each.get("code")) == asks["name"]]
            return _count([each.get("performedDateTime") or each["performedPeriod"]["start"] for each in done])
    return _measured(family, asks, of.get("Observation", []))


def _measured(family: str, asks: Mapping[str, Any], observations: Sequence[Resource]) -> dict[str, Any]:
    own = [each for each in observations if asks["code"] == _code(each)]
    newest = max(own, key=lambda each: _moment(_when(each)))
    if family == "latest_value":
        return {"value": float(newest["valueQuantity"]["value"]), "date": _when(newest)[:10]}
    if family == "latest_pair":
        parts = {_label(part["code"]): float(part["valueQuantity"]["value"]) for part in newest["component"]}
        first, second = (parts[name] for name in asks["parts"])
        return {"value": first, "second_value": second, "date": _when(newest)[:10]}
    oldest = min(own, key=lambda each: _moment(_when(each)))
    change = float(newest["valueQuantity"]["value"]) - float(oldest["valueQuantity"]["value"])
    return {"value": change, "direction": "up" if change > 0 else "down"}


def agrees(answer: Mapping[str, Any], again: Mapping[str, Any]) -> bool:
    """Say whether two answers are the same, numbers within the rounding of the chart."""
    if set(answer) != set(again):
        return False
    return all(
        abs(value - again[name]) <= 0.02 if isinstance(value, float) else value == again[name]
        for name, value in answer.items()
    )


def _outlived(requests: Sequence[Resource], scope: Scope) -> list[str]:
    active = [each for each in requests if each.get("status") == "active"]
    gone: set[str] = set()
    kept: set[str] = set()
    for each in active:
        targets = [scope.follow(reference, each) for reference in each.get("reasonReference", [])]
        reason = next((target for target in targets if target is not None), None)
        (gone if reason is not None and not _is_active(reason) else kept).add(medicine_name(each, scope))
    return sorted(gone - kept)


def _count(moments: Sequence[str]) -> dict[str, Any]:
    return {"value": float(len(moments)), "date": max(moments, key=_moment)[:10]}


def _when(observation: Resource) -> str:
    return str(
        observation.get("effectiveDateTime")
        or observation.get("effectivePeriod", {}).get("start")
        or observation["issued"]
    )


def _moment(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _code(observation: Resource) -> str:
    codes = [each.get("code") for each in observation.get("code", {}).get("coding", [])]
    return str(next(filter(None, codes), None) or _label(observation.get("code")))


def _label(concept: Any) -> str:
    if not isinstance(concept, Mapping):
        return ""
    text = concept.get("text") or next(
        (each["display"] for each in concept.get("coding", []) if each.get("display")), None
    )
    return clean(str(text or next((each["code"] for each in concept.get("coding", []) if each.get("code")), "")))


def _status(resource: Resource, part: str = "clinicalStatus") -> str:
    codings = (resource.get(part) or {}).get("coding") or [{}]
    return str(codings[0].get("code", ""))


def _is_active(condition: Resource) -> bool:
    return _status(condition) in {"active", "recurrence", "relapse"}


def _is_struck(resource: Resource) -> bool:
    marks = {str(resource.get("status")), _status(resource, "verificationStatus")}
    return bool(resource.get("doNotPerform")) or bool(marks & {"entered-in-error", "cancelled", "refuted", "not-done"})


def _sorted(names: Any) -> list[str]:
    return sorted({name for name in names if name})
