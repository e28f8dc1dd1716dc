"""Task families over imported records: one template each."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from healthgym.imports.fhir.questions import TEMPLATES
from healthgym.imports.folder import count_splits, declare, read_lines, row_of
from healthgym.tasks import AnswerField, Call, Case, Criteria, Evidence, Task
from healthgym.tasks.families import Draw, Generate
from healthgym.world import Chart

TOLERANCE = 0.011
"""Of a value that the chart shows with 2 decimals."""


def family(folder: Path, name: str) -> Generate:
    """Return one family over the questions in a domain folder."""
    rows = [row for row in read_lines(folder / "data" / "questions.jsonl") if row["family"] == name]

    def generate(draw: Draw) -> Case:
        row = row_of(rows, draw)
        chart, place = _patient(folder, row["patient"])
        calls = [Call(tool, patient_id="P1", **arguments) for tool, arguments in row["calls"]]
        task = Task(
            id=draw.task_id,
            domain=draw.domain,
            split=draw.split,
            family=draw.family,
            seed=draw.seed,
            prompt=f"P1, {chart.sex}. {row['prompt']}",
            criteria=Criteria(
                answer={field: _rule(value, row.get("unit", "")) for field, value in row["answer"].items()},
                evidence=(
                    Evidence(
                        any_of=tuple(f"P1.{key}" for key in row["rows"]),
                        at_least=len(row["rows"]),
                        label="the entries that answer it",
                    ),
                ),
            ),
            solution=(*calls, Call("submit_answer", **row["answer"])),
            provenance=f"imported: {place}; see source.json",
        )
        return Case(task, {"P1": chart})

    return declare(generate, name, count_splits(rows), str(TEMPLATES[name].__doc__))


def _rule(value: Any, unit: str) -> AnswerField:
    if isinstance(value, float):
        return AnswerField(gold=value, compare="range", tolerance=TOLERANCE, unit=unit)
    return AnswerField(gold=tuple(value), compare="set") if isinstance(value, list) else AnswerField(gold=value)


@lru_cache(maxsize=4096)
def _patient(folder: Path, number: int) -> tuple[Chart, str]:
    row = read_lines(folder / "data" / "patients.jsonl")[number]
    record = row["record"]
    days = [each["date"] for section, rows in record.items() if section != "patient" for each in rows if each["date"]]
    born, last = record["patient"]["birth_date"], max(days, default=record["patient"]["birth_date"])
    age = int(last[:4]) - int(born[:4]) - (last[5:10] < born[5:10])
    chart = Chart(
        patient_id="P1", age_years=max(0, age), sex=record["patient"]["sex"], weight_kg=0.0, extra={"record": record}
    )
    return chart, str(row["place"])
