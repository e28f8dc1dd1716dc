"""Resources of bundles and bulk exports, sorted to their patients, with references followed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from healthgym.errors import ContentError
from healthgym.imports.report import ImportLog
from healthgym.imports.sources import Source, entries, kind_of, parse_json

Resource = Mapping[str, Any]
USED = (
    "Patient", "Encounter", "Condition", "MedicationRequest", "AllergyIntolerance", "Observation", "Procedure", "Immunization",
    "CarePlan", "Medication",
)  # fmt: skip
_OLD = {"MedicationOrder": "DSTU2", "ProcedureRequest": "STU3", "MedicationPrescription": "DSTU1"}


@dataclass
class Scope:
    """Resources among which references are looked up: one bundle, or one bulk export."""

    place: str
    resources: list[Resource] = field(default_factory=list)
    by_reference: dict[str, Resource] = field(default_factory=dict)

    def add(self, resource: Resource, full_url: str, log: ImportLog) -> None:
        """Take in one resource under every name it can be referred to by; a repeat is left out."""
        kind, own_id = str(resource.get("resourceType")), str(resource.get("id") or "")
        names = [full_url] if full_url else []
        names += [f"{kind}/{own_id}", f"urn:uuid:{own_id}"] if own_id else []
        if own_id and f"{kind}/{own_id}" in self.by_reference:
            log.left_out["repeated resources"] += 1
            return
        self.resources.append(resource)
        for name in names:
            self.by_reference.setdefault(name, resource)

    def follow(self, reference: Any, holder: Resource) -> Resource | None:
        """Return what a reference of `holder` points to, contained resources included; None where it dangles."""
        text = str(reference.get("reference") or "") if isinstance(reference, Mapping) else ""
        if text.startswith("#"):
            contained = [item for item in holder.get("contained") or [] if isinstance(item, Mapping)]
            return next((item for item in contained if item.get("id") == text[1:]), None)
        plain = text.partition("/_history/")[0]
        return self.by_reference.get(plain) or self.by_reference.get("/".join(plain.split("/")[-2:]))


def scopes(sources: list[Source], log: ImportLog) -> list[Scope]:
    """Return one scope a bundle, and one for all resources of a bulk export.

    Raises:
        ContentError: A file is no FHIR, or holds versions in place of a record.
    """
    found: list[Scope] = []
    bulk = Scope("bulk export")
    for source in sources:
        if kind_of(source.path) == ".json":
            value = parse_json(source)
            if not isinstance(value, Mapping) or "resourceType" not in value:
                raise ContentError(f"{source.path}: expected a FHIR Bundle, got {_what(value)}")
            if value["resourceType"] == "Bundle":
                found.append(_bundle(value, source.path.name, log))
            else:
                _take(value, source.path.name, bulk, log)
            continue
        for place, value in entries(source):
            if isinstance(value, Mapping) and value.get("resourceType") == "Bundle":
                found.append(_bundle(value, place, log))
            elif isinstance(value, Mapping) and "resourceType" in value:
                _take(value, place, bulk, log)
            else:
                log.refuse(
                    place, "not a resource", str(value) if isinstance(value, ContentError) else f"got {_what(value)}"
                )
    if bulk.resources:
        bulk.place = (
            ", ".join(source.path.name for source in sources if kind_of(source.path) != ".json")[:120] or bulk.place
        )
        found.append(bulk)
    return found


def _bundle(bundle: Resource, place: str, log: ImportLog) -> Scope:
    kind = bundle.get("type")
    if kind == "history":
        raise ContentError(
            f"{place}: a Bundle of type 'history' holds versions, not one record; export the current state"
        )
    listed = bundle.get("entry")
    scope = Scope(place)
    if not isinstance(listed, list):
        log.refuse(place, "empty bundle", "the Bundle has no list of entries")
        return scope
    for number, entry in enumerate(listed, 1):
        resource = entry.get("resource") if isinstance(entry, Mapping) else None
        if isinstance(resource, Mapping) and resource.get("resourceType"):
            _take(resource, f"{place}, entry {number}", scope, log, str(entry.get("fullUrl") or ""))
        else:
            log.left_out["entries without a resource"] += 1
    return scope


def _take(resource: Resource, place: str, scope: Scope, log: ImportLog, full_url: str = "") -> None:
    kind = str(resource["resourceType"])
    if kind in _OLD:
        raise ContentError(f"{place}: {kind} is a resource of {_OLD[kind]}; convert the export to R4")
    for name, ways in _SHAPES.get(kind, {}).items():
        value = resource.get(name)
        if value is not None and not isinstance(value, Mapping):
            shape = "list" if isinstance(value, list) else "text" if isinstance(value, str) else type(value).__name__
            release = f", as in {ways[shape]}" if shape in ways else ""
            raise ContentError(
                f"{place}: {kind}.{name} is a {shape}{release}; R4 has an object there. Convert the export to R4"
            )
    if kind not in USED:
        log.left_out[f"{kind} resources"] += 1
    scope.add(resource, full_url, log)


_SHAPES: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "Condition": {"clinicalStatus": {"text": "STU3 and before"}},
    "AllergyIntolerance": {"clinicalStatus": {"text": "STU3 and before"}},
    "Encounter": {"class": {"text": "DSTU2", "list": "R5"}},
}
"""Parts that other releases of FHIR write in another way; an object is what R4 has."""


def by_patient(scope: Scope, log: ImportLog) -> Iterator[tuple[Resource, list[Resource]]]:
    """Yield every patient of a scope with the resources that are about that patient."""
    patients = [resource for resource in scope.resources if resource["resourceType"] == "Patient"]
    own: dict[int, list[Resource]] = {id(patient): [] for patient in patients}
    for resource in scope.resources:
        kind = resource["resourceType"]
        if kind not in USED or kind in ("Patient", "Medication"):
            continue
        about = scope.follow(resource.get("subject") or resource.get("patient"), resource)
        if about is not None and id(about) in own:
            own[id(about)].append(resource)
        else:
            log.left_out["resources whose patient is not there"] += 1
    for patient in patients:
        yield patient, own[id(patient)]


def _what(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"an object with {', '.join(map(str, list(value)[:5])) or 'nothing'}"
    return f"a {type(value).__name__}"
