"""Reads the conditions, the evidences and, where given, released patients."""

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from healthgym.errors import ContentError
from healthgym.imports.ddxplus.profiles import ANTECEDENT_PRESENT, SURE, SYMPTOM_PRESENT
from healthgym.imports.folder import Converted, as_lines, count_splits, deal
from healthgym.imports.report import ImportLog
from healthgym.imports.sources import Source, kind_of, parse_json, rows

EXPECTED = (
    "a folder with the conditions file and the evidences file (their names hold 'conditions' and 'evidences'), and, for recorded "
    "patients, a CSV file with AGE, SEX, PATHOLOGY, EVIDENCES, INITIAL_EVIDENCE, DIFFERENTIAL_DIAGNOSIS"
)
COLUMNS = ("AGE", "SEX", "PATHOLOGY", "EVIDENCES", "INITIAL_EVIDENCE", "DIFFERENTIAL_DIAGNOSIS")
TASKS = 490
"""Tasks drawn from the profiles when no limit is given: ten a condition of the released file."""
MAX_PATIENTS = 1_000
"""Recorded patients taken when no limit is given; the released files hold more than 100,000."""
IN_DIFFERENTIAL = 0.01
"""Probability from which a condition counts as part of a recorded differential."""


def choose(found: list[Path]) -> list[Path]:
    """Return the conditions, the evidences and the patients among the files."""
    names = {"conditions": (".json",), "evidences": (".json",), "patients": (".csv",)}
    return [
        path
        for path in found
        if any(word in path.name.lower() and kind_of(path) in ends for word, ends in names.items())
    ]


def recognises(sources: list[Source]) -> bool:
    """Say whether both profile files are there."""
    return all(
        any(word in source.path.name.lower() and '"' in source.text for source in sources)
        for word in ("conditions", "evidences")
    )


def convert(sources: list[Source], limit: int | None, log: ImportLog) -> Converted:
    """Return the domain: patients drawn from the profiles, or the recorded ones where a CSV file is given.

    Raises:
        ContentError: A profile file lacks a part, or names an evidence that is not there.
    """
    evidences = _evidences(_one(sources, "evidences"))
    conditions = _conditions(_one(sources, "conditions"), {item["code"] for item in evidences})
    tables = [source for source in sources if kind_of(source.path) == ".csv"]
    data = {"conditions.jsonl": as_lines(conditions), "evidences.jsonl": as_lines(evidences)}
    if tables:
        patients = _patients(tables, conditions, evidences, limit or MAX_PATIENTS, log)
        data["patients.jsonl"] = as_lines(patients)
        counts = count_splits(patients)
        families = dict.fromkeys(("recorded", "differential"), counts) if patients else {}
    else:
        total = TASKS if limit is None else limit
        families = {"sampled": count_splits([{"split": deal(index)} for index in range(total)])}
        data["counts.jsonl"] = as_lines([families["sampled"]])
        log.notes.append(
            f"the files give no probabilities: patients are drawn with each listed symptom at {SYMPTOM_PRESENT:g}, each listed antecedent "
            f"at {ANTECEDENT_PRESENT:g} and nothing else, until the whole evidence makes the condition {SURE:.0%} probable"
        )
        valued = sum(item["type"] != "B" for item in evidences)
        log.notes.append(
            f"{valued} evidences with values are not drawn: the files do not say which values go with which condition"
        )
    return Converted(
        package="healthgym.imports.ddxplus",
        toolkit="EvidenceToolkit",
        families=families,
        data=data,
        title="Imported differential diagnosis",
        description=f"Ask a simulated patient about {len(evidences)} evidences and tell {len(conditions)} conditions apart.",
        guideline=_guideline([condition["name"] for condition in conditions], drawn=not tables),
        budget={"turns": 40, "tool_calls": 120},
        reads_data=True,
    )


def _one(sources: Sequence[Source], word: str) -> Source:
    found = [source for source in sources if word in source.path.name.lower()]
    if len(found) != 1:
        names = ", ".join(source.path.name for source in found) or "none"
        raise ContentError(f"expected one {word} file, found {names}; leave one in the folder")
    return found[0]


def _table(source: Source) -> Mapping[str, Any]:
    value = parse_json(source)
    if not isinstance(value, Mapping) or not value or not all(isinstance(item, Mapping) for item in value.values()):
        raise ContentError(f"{source.path}: expected an object of objects by name, got {type(value).__name__}")
    return value


def _need(item: Mapping[str, Any], source: Source, name: str, key: str, kind: type) -> Any:
    if not isinstance(item.get(key), kind):
        raise ContentError(f"{source.path}, {name!r}: {key!r} is missing or not {kind.__name__}")
    return item[key]


def _evidences(source: Source) -> list[dict[str, Any]]:
    found = []
    for code, item in _table(source).items():
        kind = _need(item, source, code, "data_type", str)
        if kind not in ("B", "C", "M"):
            raise ContentError(f"{source.path}, {code!r}: data_type must be B, C or M, got {kind!r}")
        meanings = _need(item, source, code, "value_meaning", dict)
        possible = item.get("possible-values") or []
        if not isinstance(possible, list) or not all(isinstance(one, Mapping) for one in meanings.values()):
            raise ContentError(
                f"{source.path}, {code!r}: 'possible-values' must be a list and 'value_meaning' hold an object by value"
            )
        values = {str(value): str(meanings.get(str(value), {}).get("en", value)) for value in possible}
        found.append(
            {
                "code": code,
                "question": _need(item, source, code, "question_en", str).strip(),
                "type": kind,
                "antecedent": bool(item.get("is_antecedent")),
                "values": values,
                "default": str(item.get("default_value", "")),
            }
        )
    return found


def _conditions(source: Source, codes: set[str]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for key, item in _table(source).items():
        name = str(item.get("cond-name-eng") or item.get("condition_name") or key).strip()
        row = {
            "name": name,
            "also": sorted(
                {str(item[field]).strip() for field in ("condition_name", "cond-name-fr") if item.get(field)} | {key}
            ),
            "icd10": str(item.get("icd10-id", "")),
            "severity": item.get("severity"),
            "symptoms": sorted(_need(item, source, key, "symptoms", dict)),
            "antecedents": sorted(_need(item, source, key, "antecedents", dict)),
        }
        unknown = sorted({*row["symptoms"], *row["antecedents"]} - codes)
        if unknown:
            raise ContentError(
                f"{source.path}, {key!r}: evidence {unknown[0]!r} is not in the evidences file; are both of one release?"
            )
        if name in found:
            raise ContentError(f"{source.path}, {key!r}: a second condition is called {name!r}")
        found[name] = row
    return list(found.values())


def _patients(
    tables: Sequence[Source],
    conditions: Sequence[Mapping[str, Any]],
    evidences: Sequence[Mapping[str, Any]],
    limit: int,
    log: ImportLog,
) -> list[dict[str, Any]]:
    """Return the recorded patients; where several look alike in everything, each one's pathology is accepted for all."""
    names = {also: condition["name"] for condition in conditions for also in (*condition["also"], condition["name"])}
    by_code = {item["code"]: item for item in evidences}
    kept: list[dict[str, Any]] = []
    for table in tables:
        for place, row in rows(table):
            if len(kept) >= limit:
                log.left_out["patients past the limit"] += 1
                continue
            try:
                kept.append({**_patient(row, names, by_code), "place": place, "split": deal(len(kept))})
            except ContentError as error:
                log.refuse(place, "unusable row", str(error))
    alike: dict[str, list[dict[str, Any]]] = {}
    for patient in kept:
        look = repr((patient["age_years"], patient["sex"], patient["initial"], sorted(patient["evidences"].items())))
        alike.setdefault(look, []).append(patient)
    for group in alike.values():
        golds = list(dict.fromkeys(patient["pathology"] for patient in group))
        for patient in group:
            patient["gold"], patient["accept"] = golds[0], golds[1:]
    return kept


def _patient(
    row: Mapping[str, Any], names: Mapping[str, str], by_code: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    lacking = [column for column in COLUMNS if not row.get(column)]
    if lacking:
        raise ContentError(f"column {lacking[0]} is missing or empty; expected {', '.join(COLUMNS)}")
    sex = {"M": "male", "F": "female"}.get(row["SEX"].strip().upper())
    if sex is None or not row["AGE"].strip().isdigit():
        raise ContentError(f"SEX must be M or F and AGE a whole number, got {row['SEX']!r} and {row['AGE']!r}")
    evidences = _answers(_literal(row, "EVIDENCES"), by_code)
    initial = row["INITIAL_EVIDENCE"].strip()
    if initial not in evidences:
        raise ContentError(f"INITIAL_EVIDENCE {initial!r} is not among the patient's EVIDENCES")
    if len(evidences) < 3:
        raise ContentError(f"{len(evidences)} evidences are too few to find anything out; at least 3 are needed")
    weighted = [(str(item[0]), float(item[1])) for item in _literal(row, "DIFFERENTIAL_DIAGNOSIS")]
    unknown = [name for name in (row["PATHOLOGY"].strip(), *(name for name, _ in weighted)) if name not in names]
    if unknown:
        raise ContentError(f"condition {unknown[0]!r} is not in the conditions file")
    ranked = [names[name] for name, chance in sorted(weighted, key=lambda item: -item[1]) if chance >= IN_DIFFERENTIAL]
    if not ranked:
        raise ContentError(f"no condition of DIFFERENTIAL_DIAGNOSIS reaches {IN_DIFFERENTIAL:g}")
    return {
        "age_years": int(row["AGE"]),
        "sex": sex,
        "pathology": names[row["PATHOLOGY"].strip()],
        "initial": initial,
        "evidences": evidences,
        "differential": ranked,
    }


def _literal(row: Mapping[str, Any], column: str) -> list[Any]:
    try:
        value = ast.literal_eval(row[column])
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        value = None
    if not isinstance(value, list) or (column.startswith("DIFF") and not all(_is_pair(item) for item in value)):
        raise ContentError(
            f"{column} must be a list such as ['E_48', 'E_54_@_V_161'] or [['Bronchitis', 0.19]], got {row[column][:60]!r}"
        )
    return value


def _is_pair(item: Any) -> bool:
    return isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[1], int | float)


def _answers(items: Sequence[Any], by_code: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the values by evidence code; an empty list is a plain yes."""
    answers: dict[str, list[str]] = {}
    for item in items:
        code, at, value = str(item).partition("_@_")
        evidence = by_code.get(code)
        if evidence is None:
            raise ContentError(f"evidence {code!r} is not in the evidences file")
        if bool(at) == (evidence["type"] == "B") or (at and value not in evidence["values"]):
            raise ContentError(
                f"{item!r} does not fit evidence {code}, which takes {', '.join(list(evidence['values'])[:4]) or 'yes or no'}"
            )
        answers.setdefault(code, [])
        answers[code] += [value] if at else []
    return answers


def _guideline(names: Sequence[str], *, drawn: bool) -> str:
    model = (
        f"Patients here are drawn: of what their condition is listed with, each symptom is present in {SYMPTOM_PRESENT * 10:.0f} of 10 and each "
        f"antecedent in {ANTECEDENT_PRESENT * 10:.0f} of 10; what is not listed is absent, and age tells nothing. Questions that take values cannot be answered.\n\n"
    )
    return f"""# Imported differential diagnosis

A patient tells one symptom. Find questions with `find_questions`, see what a condition is listed with in `read_condition`, and ask the
patient with `ask_patient`, one code at a time. Several calls in one turn are allowed. End with `submit_diagnosis`.

The diagnosis is one of: {"; ".join(names)}.

{model if drawn else ""}The conditions, the questions and which belong together come from DDXPlus (Fansi Tchango et al., NeurIPS 2022), a synthetic data set. They are not
a guideline and not for patient care.
"""
