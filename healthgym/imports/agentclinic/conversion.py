"""Reads OSCE cases, refuses those that cannot be played fairly, and writes the rows of the domain."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from healthgym.errors import ContentError
from healthgym.imports.agentclinic.facts import demographics, facts_of, is_english_script
from healthgym.imports.agentclinic.matching import items_of, readable
from healthgym.imports.agentclinic.play import GUIDELINE, prompt_of, solve
from healthgym.imports.folder import Converted, as_lines, count_splits, deal
from healthgym.imports.names import accepted_names, naming
from healthgym.imports.report import ImportLog
from healthgym.imports.sources import Source, entries, kind_of

EXPECTED = (
    "JSON lines (or a list) of objects with OSCE_Examination {Objective_for_Doctor, Patient_Actor, "
    "Physical_Examination_Findings, Test_Results, Correct_Diagnosis}"
)
FEW_DIAGNOSES = 20


def choose(found: list[Path]) -> list[Path]:
    """Return the JSON files."""
    return [path for path in found if kind_of(path) in (".json", ".jsonl", ".ndjson")]


def recognises(sources: list[Source]) -> bool:
    """Say whether any entry looks like a case."""
    try:
        return any(_osce(value) is not None for source in sources for _, value in entries(source))
    except ContentError:
        return any('"OSCE_Examination"' in source.text for source in sources)


def convert(sources: list[Source], limit: int | None, log: ImportLog) -> Converted:
    """Return the domain of the cases that can be played; the others are refused, each with its reason."""
    rows: list[dict[str, Any]] = []
    for place, value in _cases(sources, log):
        if limit is not None and len(rows) >= limit:
            log.left_out["cases past the limit"] += 1
            continue
        try:
            row = _row(value, log)
        except _Refused as refused:
            log.refuse(place, refused.kind, str(refused))
        except ContentError as error:
            log.refuse(place, "incomplete", str(error))
        else:
            rows.append({**row, "split": deal(len(rows)), "place": place})
    different = len({row["gold"] for row in rows})
    if rows and different < FEW_DIAGNOSES:
        log.notes.append(
            f"{different} different diagnoses: who guesses among them is right in 1 of {different}, so healthgym validate may "
            f"report policies that look around and guess; from {FEW_DIAGNOSES} different ones on it is held to 5 %"
        )
    return Converted(
        package="healthgym.imports.agentclinic",
        toolkit="CaseToolkit",
        families={"diagnose": count_splits(rows)} if rows else {},
        data={"cases.jsonl": as_lines(rows)},
        title="Imported consultations",
        description="Question, examine and investigate a simulated patient, and submit the diagnosis.",
        guideline=GUIDELINE,
    )


class _Refused(ContentError):
    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


def _cases(sources: list[Source], log: ImportLog) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (place, case), without broken entries and repeats."""
    by_content: dict[str, str] = {}
    by_id: dict[str, str] = {}
    for source in sources:
        for place, value in entries(source):
            if isinstance(value, ContentError):
                log.refuse(place, "not JSON", str(value))
                continue
            case = _osce(value)
            if case is None:
                log.refuse(place, "not a case", f"no OSCE_Examination in it; keys: {_keys(value)}")
                continue
            content = json.dumps(case, sort_keys=True)
            name = str(value.get("id") or value.get("case_id") or "")
            if content in by_content or (name and name in by_id):
                first = by_content.get(content) or by_id[name]
                log.refuse(
                    place, "duplicate", f"the same {'case' if content in by_content else f'id {name!r}'} as {first}"
                )
                continue
            by_content[content] = place
            by_id[name] = place
            yield place, case


def _osce(value: Any) -> Mapping[str, Any] | None:
    """Return the examination of an entry, that of the image-question variant in the same shape, or None."""
    if not isinstance(value, Mapping):
        return None
    inner = value.get("OSCE_Examination", value)
    if isinstance(inner, Mapping) and "Correct_Diagnosis" in inner:
        return inner
    if {"question", "answers", "patient_info", "physical_exams"} <= set(value):
        return _question(value)
    return inner if isinstance(inner, Mapping) and "OSCE_Examination" in value else None


def _question(value: Mapping[str, Any]) -> Mapping[str, Any]:
    answers = value["answers"] if isinstance(value["answers"], list) else []
    right = [item.get("text") for item in answers if isinstance(item, Mapping) and item.get("correct") is True]
    return {
        "Objective_for_Doctor": "What is the most likely diagnosis?",
        "Patient_Actor": {"Demographics": value["patient_info"], "History": value["patient_info"]},
        "Physical_Examination_Findings": {"Physical_Examination": value["physical_exams"]},
        "Test_Results": {},
        "Correct_Diagnosis": right[0] if len(right) == 1 else None,
        "image_url": value.get("image_url"),
    }


def _row(case: Mapping[str, Any], log: ImportLog) -> dict[str, Any]:
    for key, kind in (("Objective_for_Doctor", str), ("Patient_Actor", Mapping), ("Correct_Diagnosis", str)):
        if not case.get(key):
            raise ContentError(f"{key} is missing or empty")
        if not isinstance(case[key], kind):
            raise ContentError(
                f"{key} must be {'an object' if kind is Mapping else 'text'}, got {type(case[key]).__name__}"
            )
    actor = case["Patient_Actor"]
    age, sex = demographics([str(actor.get(key) or "") for key in ("Demographics", "History")])
    exam, tests = _tree(case, "Physical_Examination_Findings"), _tree(case, "Test_Results")
    row = {
        "objective": case["Objective_for_Doctor"].strip(),
        "age_years": age,
        "sex": sex,
        "facts": facts_of(actor),
        "exam": exam,
        "tests": tests,
        "diagnosis": case["Correct_Diagnosis"].strip(),
    }
    given = case.get("Diagnosis_Synonyms") or []
    synonyms = [str(name) for name in (given if isinstance(given, list) else [given])]
    names = accepted_names(row["diagnosis"], synonyms)
    if not names:
        raise ContentError(f"Correct_Diagnosis {row['diagnosis']!r} has no word in it")
    row |= {"gold": names[0], "accept": names[1:]}
    _check_fair(row, names)
    if case.get("image_url"):
        log.left_out["images"] += 1
    row["solution"], row["needed"] = solve(row)
    return row


def _tree(case: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = case.get(key) or {}
    if isinstance(value, str):
        return {readable(key): value}
    if not isinstance(value, Mapping):
        raise ContentError(f"{key} must be an object, got {type(value).__name__}")
    return dict(value)


def _check_fair(row: Mapping[str, Any], names: list[str]) -> None:
    """Refuse a case whose texts name the diagnosis, that is not in English letters, or that has nothing to find out."""
    told = [("the opening", prompt_of(row))]
    told += [(f"what the patient tells ({fact['id']})", fact["text"]) for fact in row["facts"]]
    for part in ("exam", "tests"):
        told += [
            (f"{part} {' / '.join(item.path)}", f"{' . '.join(item.path)} . {item.text}")
            for item in items_of(row[part])
        ]
    for where, text in told:
        said = naming(text, names)
        if said:
            raise _Refused(
                "names the diagnosis", f"{where} says {said!r}, so the gold could be read before it is found"
            )
    if not is_english_script(" ".join(text for _, text in told)):
        raise _Refused(
            "not English", "most letters are not Latin; the simulated patient understands English questions only"
        )
    if not row["exam"] and not row["tests"]:
        raise _Refused("nothing to find out", "neither Physical_Examination_Findings nor Test_Results has content")


def _keys(value: Any) -> str:
    return (
        ", ".join(map(str, list(value)[:6]))
        if isinstance(value, Mapping)
        else f"a {type(value).__name__}, not an object"
    )
