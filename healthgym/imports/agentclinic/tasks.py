"""The task family of an imported consultation."""

from pathlib import Path

from healthgym.imports.agentclinic.play import chart_of, prompt_of
from healthgym.imports.folder import count_splits, declare, read_lines, row_of
from healthgym.tasks import AnswerField, Call, Case, Criteria, Evidence, Task
from healthgym.tasks.families import Draw, Generate

_LABELS = {
    "history": ("findings", "the patient's own account"),
    "exam": ("exam", "the examination"),
    "tests": ("tests", "a test's result"),
}


def family(folder: Path, name: str) -> Generate:
    """Return the family over the cases in a domain folder."""
    rows = read_lines(folder / "data" / "cases.jsonl")

    def generate(draw: Draw) -> Case:
        row = row_of(rows, draw)
        evidence = tuple(
            Evidence(any_of=(f"P1.{_LABELS[part][0]}.*",), at_least=count, label=_LABELS[part][1])
            for part, count in row["needed"].items()
            if count
        )
        look = tuple(Call(tool, **arguments) for tool, arguments in row["solution"])
        task = Task(
            id=draw.task_id,
            domain=draw.domain,
            split=draw.split,
            family=draw.family,
            seed=draw.seed,
            prompt=prompt_of(row),
            criteria=Criteria(
                answer={"diagnosis": AnswerField(gold=row["gold"], accept=tuple(row["accept"]))}, evidence=evidence
            ),
            solution=(*look, Call("submit_diagnosis", diagnosis=row["diagnosis"])),
            solution_turns=(*_turns(len(look)), 1),
            condition=row["gold"],
            provenance=f"imported: {row['place']}; see source.json",
        )
        return Case(task, {"P1": chart_of(row)})

    return declare(generate, name, count_splits(rows), "Find the diagnosis of one imported case.")


def _turns(calls: int, size: int = 4) -> tuple[int, ...]:
    return tuple(min(size, calls - start) for start in range(0, calls, size))
