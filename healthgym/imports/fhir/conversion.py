"""Reads FHIR, makes charts and questions, and keeps the questions whose answer two queries agree on."""

from collections import Counter
from pathlib import Path
from typing import Any

from healthgym.errors import ContentError
from healthgym.imports.fhir.questions import TEMPLATES
from healthgym.imports.fhir.reading import Resource, Scope, by_patient, scopes
from healthgym.imports.fhir.recheck import agrees, answer_again
from healthgym.imports.fhir.record import MALFORMED, record_of
from healthgym.imports.folder import Converted, as_lines, count_splits, deal
from healthgym.imports.report import ImportLog
from healthgym.imports.sources import Source, kind_of

EXPECTED = "FHIR R4: Bundle files (.json) or a bulk export (.ndjson), each also as .gz"
FEW_PATIENTS = 5
GUIDELINE = """# Imported records

Answer one question about the record of patient P1. Look with the tools; lists show at most 40 rows a call, so narrow them by name, status or
date where more are announced. Dates are YYYY-MM-DD as recorded, both ends of a window included. Values are shown rounded to 2 decimals
(below 1 to 4). End with `submit_answer` and fill the arguments that the question names: names exactly as the record writes them.

"Active" is what the record says of itself. The records are data for practising queries, not clinical advice.
"""


def choose(found: list[Path]) -> list[Path]:
    """Return the JSON files."""
    return [path for path in found if kind_of(path) in (".json", ".ndjson", ".jsonl")]


def recognises(sources: list[Source]) -> bool:
    """Say whether every file speaks of resources."""
    return all('"resourceType"' in source.text for source in sources)


def convert(sources: list[Source], limit: int | None, log: ImportLog) -> Converted:
    """Return the domain of all patients, or of the first `limit`.

    Raises:
        ContentError: A file is no FHIR R4.
    """
    patients: list[dict[str, Any]] = []
    questions: list[dict[str, Any]] = []
    seen: dict[str, str] = {}
    for scope in scopes(sources, log):
        found = list(by_patient(scope, log))
        if not found:
            log.refuse(scope.place, "no patient", "no Patient resource in it")
        for patient, resources in found:
            if limit is not None and len(patients) >= limit:
                log.left_out["patients past the limit"] += 1
                continue
            place = f"{scope.place}, Patient {str(patient.get('id') or '')[:40]}".rstrip()
            own_id = str(patient.get("id") or "")
            if own_id and own_id in seen:
                log.refuse(place, "duplicate", f"the patient of {seen[own_id]} again")
                continue
            seen[own_id] = place
            _add(patient, resources, scope, place, patients, questions, log)
    counts = {name: count_splits([each for each in questions if each["family"] == name]) for name in TEMPLATES}
    if 0 < len(patients) < FEW_PATIENTS:
        log.notes.append(
            f"few patients ({len(patients)}) give few different answers, so healthgym validate may report policies that guess among them"
        )
    return Converted(
        package="healthgym.imports.fhir",
        toolkit="RecordToolkit",
        families={name: count for name, count in counts.items() if count},
        data={"patients.jsonl": as_lines(patients), "questions.jsonl": as_lines(questions)},
        title="Imported records",
        description=f"Answer questions about {len(patients)} imported patient records by querying them.",
        guideline=GUIDELINE,
        budget={"turns": 12, "tool_calls": 30},
    )


def _add(
    patient: Resource,
    resources: list[Resource],
    scope: Scope,
    place: str,
    patients: list[dict[str, Any]],
    questions: list[dict[str, Any]],
    log: ImportLog,
) -> None:
    """Add one patient and the questions about the record, or refuse the patient."""
    lost: Counter[str] = Counter(log.left_out)
    try:
        record, read = record_of(patient, resources, scope, log)
    except ContentError as error:
        log.left_out = lost
        log.refuse(place, "unusable patient", str(error))
        return
    number, split = len(patients), deal(len(patients))
    made = []
    for family, template in TEMPLATES.items():
        for question in template(record, number):
            try:
                again = answer_again(family, question["asks"], read, scope)
            except MALFORMED as error:
                log.refuse(place, "second query fails", f"{family}: {type(error).__name__}: {error}")
                continue
            if agrees(question["answer"], again):
                made.append({**question, "family": family, "split": split, "patient": number})
            else:
                log.refuse(place, "second query disagrees", f"{family}: {question['answer']} and {again}")
    if not made:
        log.refuse(place, "nothing to ask", "no template finds an answer in the record")
        return
    patients.append({"place": place, "split": split, "record": record})
    questions += made
