"""The record: entries in order of time, and the questions that tools and golds ask of them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from healthgym.errors import TaskError
from healthgym.world import Chart

from .timeline import stamp

Resource = Literal[
    "Observation", "MedicationStatement", "MedicationRequest", "Condition", "AllergyIntolerance", "Encounter",
    "DiagnosticReport", "DocumentReference", "Procedure",
]  # fmt: skip
"""Kinds of entries, named as in HL7 FHIR R4."""
Entry = Mapping[str, Any]
"""id, resource, code, time, status and text; value, unit and detail where there are any."""
IN_ERROR = "entered-in-error"


@dataclass
class Book:
    """A record being written; ids are given at the end, by order of time, so that they tell nothing."""

    admitted: datetime
    drafts: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self,
        resource: Resource,
        code: str,
        hours: float,
        text: str,
        *,
        value: float | None = None,
        unit: str = "",
        status: str = "final",
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        """Write one entry at so many hours since admission."""
        entry: dict[str, Any] = {
            "resource": resource,
            "code": code,
            "time": stamp(self.admitted, hours),
            "status": status,
            "text": text,
        }
        if value is not None:
            entry |= {"value": value, "unit": unit}
        if detail is not None:
            entry["detail"] = dict(detail)
        self.drafts.append(entry)

    def entries(self) -> tuple[Entry, ...]:
        """Return the entries in order of time, with ids such as creatinine-03."""
        count: Counter[str] = Counter()
        made = []
        for draft in sorted(self.drafts, key=lambda entry: entry["time"]):
            count[draft["code"]] += 1
            made.append({"id": f"{draft['code']}-{count[draft['code']]:02d}", **draft})
        return tuple(made)


def entries(chart: Chart) -> Sequence[Entry]:
    """Return every entry of a chart's record; none where the chart has no record."""
    return chart.extra.get("record", ())


def select(
    chart: Chart, *, resource: str | None = None, code: str | None = None, since: str = "", until: str = "9999"
) -> list[Entry]:
    """Return the entries of a kind, code and window of stamps (both ends included), in order of time."""
    return [
        entry
        for entry in entries(chart)
        if since <= entry["time"] <= until
        and (code is None or entry["code"] == code)
        and (resource is None or entry["resource"] == resource)
    ]


def valid(found: Sequence[Entry]) -> list[Entry]:
    """Return the entries that count: those entered in error do not."""
    return [entry for entry in found if entry["status"] != IN_ERROR]


def values(chart: Chart, code: str, since: str = "", until: str = "9999") -> list[Entry]:
    """Return the valid results of an analyte within a window."""
    return valid(select(chart, resource="Observation", code=code, since=since, until=until))


def signs(chart: Chart, name: str, since: str = "", until: str = "9999") -> Iterator[tuple[Entry, float]]:
    """Yield (entry, value) of one vital sign, or of one part of a blood gas, within a window."""
    code = "blood_gas" if name in ("pao2_mmhg", "paco2_mmhg", "ph", "fio2") else "vital_signs"
    for entry in values(chart, code, since, until):
        yield entry, entry["detail"][name]


def find(chart: Chart, entry_id: str) -> Entry | None:
    """Return one entry by id, or None."""
    return next((entry for entry in entries(chart) if entry["id"] == entry_id), None)


def need(found: Sequence[Entry], what: str) -> Sequence[Entry]:
    """Return `found`, or raise TaskError when it is empty: a task that cannot be answered is not made."""
    if not found:
        raise TaskError(f"the record holds no {what}")
    return found


def key(patient_id: str, entry: Entry) -> str:
    """Return the fact that reading an entry reveals."""
    return f"{patient_id}.records.{entry['id']}"


def admitted(chart: Chart) -> str:
    """Return the stamp of admission."""
    return str(chart.extra["admitted"])


def now(chart: Chart) -> str:
    """Return the stamp at which the episode begins."""
    return str(chart.extra["now"])
