"""Templates of questions about a record, with the answer, the rows it rests on and the calls that show them.

Each takes a record's rows and a number that varies the choice between patients, and returns its questions. `asks` holds what
the second query (see recheck) needs to compute the same answer from the resources themselves.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from healthgym.imports.fhir.record import rounded

Record = Mapping[str, Any]
Question = dict[str, Any]
Template = Callable[[Record, int], Iterator[Question]]
MAX_ROWS = 40
"""Most rows that one call of a tool shows."""
MAX_NAMES = 12
MAX_DECEMBER = "12-31"


def active_medicines(record: Record, vary: int) -> Iterator[Question]:
    """Name the medicines that the record lists as active."""
    yield from _names(record, "medications", "list_medications", "medicines", lambda row: row["active"])


def active_problems(record: Record, vary: int) -> Iterator[Question]:
    """Name the conditions that the record lists as active."""
    yield from _names(record, "conditions", "list_conditions", "conditions", lambda row: row["active"])


def active_allergies(record: Record, vary: int) -> Iterator[Question]:
    """Name the allergies that the record lists as active."""
    yield from _names(record, "allergies", "list_allergies", "allergies", lambda row: row["active"])


def active_care_plans(record: Record, vary: int) -> Iterator[Question]:
    """Name the care plans that the record lists as active."""
    yield from _names(record, "care_plans", "list_care_plans", "care plans", lambda row: row["active"])


def outlived_medicines(record: Record, vary: int) -> Iterator[Question]:
    """Reconcile: name the active medicines whose stated reason is no longer an active condition."""
    rows = [(n, row) for n, row in enumerate(record["medications"]) if row["active"]]
    chosen = [(n, row) for n, row in rows if row["for_active"] is False]
    still = {row["name"] for _, row in rows if row["for_active"] is not False}
    chosen = [(n, row) for n, row in chosen if row["name"] not in still]
    if chosen and len(rows) <= MAX_ROWS:
        prompt = (
            "Which medicines are listed as active although the condition they were prescribed for is no longer active? Submit "
            "their names as written in the record."
        )
        yield {
            "prompt": prompt,
            "answer": {"names": sorted({row["name"] for _, row in chosen})},
            "rows": [*(f"medications.{n}" for n, _ in chosen), "conditions.looked"],
            "calls": [["list_medications", {"status": "active"}], ["list_conditions", {"status": "not_active"}]],
            "asks": {},
        }


def latest_value(record: Record, vary: int) -> Iterator[Question]:
    """Give the most recent value of a measurement and its date."""
    for series in _pick(_series(record, fewest=2), vary, 3):
        number, row = series[-1]
        yield {
            "prompt": f"What is the most recent value of {row['name']!r} ({row['code']}), in {row['unit']}, and on which date was it taken? "
            "Submit value and date (YYYY-MM-DD).",
            "answer": {"value": row["value"], "date": row["date"]},
            "unit": row["unit"],
            "rows": [f"observations.{number}"],
            "calls": [["read_observations", {"observation": row["code"], "start_date": row["date"]}]],
            "asks": {"code": row["code"]},
        }


def latest_pair(record: Record, vary: int) -> Iterator[Question]:
    """Give both parts of the most recent two-part measurement, such as a blood pressure, and its date."""
    series: dict[str, list[tuple[int, Any]]] = defaultdict(list)
    for number, row in enumerate(record["observations"]):
        parts = row["parts"]
        is_pair = len(parts) == 2 and len({part["unit"] for part in parts}) == 1
        if is_pair and all(isinstance(part["value"], float) and part["unit"] for part in parts):
            series[row["code"]].append((number, row))
    whole = [rows for rows in series.values() if len(rows) >= 2 and _is_ordered(rows)]
    for rows in _pick(whole, vary, 1):
        number, row = rows[-1]
        first, second = row["parts"]
        yield {
            "prompt": f"What is the most recent {row['name']!r} ({row['code']}) and on which date was it taken? Submit {first['name']!r} as "
            f"value, {second['name']!r} as second_value, both in {first['unit']}, and the date (YYYY-MM-DD).",
            "answer": {"value": first["value"], "second_value": second["value"], "date": row["date"]},
            "unit": first["unit"],
            "rows": [f"observations.{number}"],
            "calls": [["read_observations", {"observation": row["code"], "start_date": row["date"]}]],
            "asks": {"code": row["code"], "parts": [first["name"], second["name"]]},
        }


def value_change(record: Record, vary: int) -> Iterator[Question]:
    """Say by how much a measurement changed from its first to its last value, and in which direction."""
    usable = [rows for rows in _series(record, fewest=3) if rows[-1][1]["value"] != rows[0][1]["value"]]
    for rows in _pick(usable, vary + 1, 2):
        (first_number, first), (last_number, last) = rows[0], rows[-1]
        change = rounded(last["value"] - first["value"])
        call = {"observation": first["code"]}
        calls = [["read_observations", call]]
        if len(rows) > MAX_ROWS:
            calls = [
                ["read_observations", {**call, "end_date": first["date"]}],
                ["read_observations", {**call, "start_date": last["date"]}],
            ]
        yield {
            "prompt": f"By how much did {first['name']!r} ({first['code']}) change from its first to its most recent value in the record? Submit the "
            f"difference in {first['unit']} as value (negative when it fell) and the direction.",
            "answer": {"value": change, "direction": "up" if change > 0 else "down"},
            "unit": first["unit"],
            "rows": [f"observations.{first_number}", f"observations.{last_number}"],
            "calls": calls,
            "asks": {"code": first["code"]},
        }


def encounter_count(record: Record, vary: int) -> Iterator[Question]:
    """Count the encounters of one class that began in a window of calendar years."""
    rows = [(n, row) for n, row in enumerate(record["encounters"]) if len(row["date"]) == 10]
    if len(rows) != len(record["encounters"]) or not rows:
        return
    last = int(rows[-1][1]["date"][:4])
    for place, kind in enumerate(_pick(sorted({row["class"] for _, row in rows}), vary, 2)):
        years = 3 + (vary + 3 * place) % 8
        start, end = f"{last - years}-01-01", f"{last - 1}-{MAX_DECEMBER}"
        chosen = [(n, row) for n, row in rows if row["class"] == kind and start <= row["date"] <= end]
        if 1 <= len(chosen) <= MAX_ROWS:
            yield {
                "prompt": f"How many encounters of class {kind} began from {start} to {end}, both days included? Submit the number as value.",
                "answer": {"value": float(len(chosen))},
                "rows": [f"encounters.{n}" for n, _ in chosen],
                "calls": [["list_encounters", {"encounter_class": kind, "start_date": start, "end_date": end}]],
                "asks": {"class": kind, "start": start, "end": end},
            }


def vaccine_doses(record: Record, vary: int) -> Iterator[Question]:
    """Count the doses of one vaccine and date the last."""
    yield from _counts(record, "immunizations", "list_immunizations", "doses of {!r} have been given", vary, 1)


def procedure_count(record: Record, vary: int) -> Iterator[Question]:
    """Count how often one procedure was done and date the last."""
    yield from _counts(record, "procedures", "list_procedures", "times was {!r} done", vary, 2)


TEMPLATES: Mapping[str, Template] = {
    template.__name__: template
    for template in (
        active_medicines, active_problems, active_allergies, active_care_plans, outlived_medicines, latest_value, latest_pair,
        value_change, encounter_count, vaccine_doses, procedure_count,
    )
}  # fmt: skip


def _names(record: Record, section: str, tool: str, words: str, wanted: Callable[[Any], bool]) -> Iterator[Question]:
    chosen = [(n, row) for n, row in enumerate(record[section]) if wanted(row)]
    names = sorted({row["name"] for _, row in chosen})
    if names and len(names) <= MAX_NAMES and len(chosen) <= MAX_ROWS:
        yield {
            "prompt": f"Which {words} does the record list as active? Submit their names as written in the record.",
            "answer": {"names": names},
            "rows": [f"{section}.{n}" for n, _ in chosen],
            "calls": [[tool, {"status": "active"}]],
            "asks": {},
        }


def _counts(record: Record, section: str, tool: str, words: str, vary: int, most: int) -> Iterator[Question]:
    by_name: dict[str, list[tuple[int, Any]]] = defaultdict(list)
    for number, row in enumerate(record[section]):
        by_name[row["name"]].append((number, row))
    usable = [
        rows for _, rows in sorted(by_name.items()) if 2 <= len(rows) <= MAX_ROWS and all(row["at"] for _, row in rows)
    ]
    for rows in _pick(usable, vary, most):
        name = rows[0][1]["name"]
        if sum(other != name and name.lower() in other.lower() for other in by_name):
            continue
        yield {
            "prompt": f"How many {words.format(name)}, and on which date most recently? Submit the number as value, and the date (YYYY-MM-DD).",
            "answer": {"value": float(len(rows)), "date": rows[-1][1]["date"]},
            "rows": [f"{section}.{n}" for n, _ in rows],
            "calls": [[tool, {"name": name}]],
            "asks": {"name": name},
        }


def _series(record: Record, fewest: int) -> list[list[tuple[int, Any]]]:
    """Return measurements whose rows all have a number, one unit, a whole date and a moment of their own."""
    by_code: dict[str, list[tuple[int, Any]]] = defaultdict(list)
    for number, row in enumerate(record["observations"]):
        if not row["parts"]:
            by_code[row["code"]].append((number, row))
    return [
        rows
        for _, rows in sorted(by_code.items())
        if len(rows) >= fewest
        and all(isinstance(row["value"], float) and row["unit"] for _, row in rows)
        and len({row["unit"] for _, row in rows}) == 1
        and _is_ordered(rows)
    ]


def _is_ordered(rows: Sequence[tuple[int, Any]]) -> bool:
    moments = [row["at"] for _, row in rows]
    days = [row["date"] for _, row in rows]
    return all(moments) and len(set(days)) == len(days)


def _pick(options: Sequence[Any], vary: int, most: int) -> list[Any]:
    """Return up to `most` options, spread out and another choice for each `vary`."""
    if len(options) <= most:
        return list(options)
    step = len(options) // most
    return [options[(vary * 5 + place * step) % len(options)] for place in range(most)]
