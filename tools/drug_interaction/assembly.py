"""Puts a case together: prompt, gold, evidence, hazards' targets and the oracle, from a chart and its problem."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from healthgym.errors import TaskError
from healthgym.knowledge_base.reading import read_yaml
from healthgym.tasks import AnswerField, Budget, Call, Case, Criteria, Evidence, Task
from healthgym.tasks.families import Draw
from healthgym.world import Chart

from .knowledge import FOLDER
from .remedies import Remedy

BUDGET = Budget(turns=18, tool_calls=40, minutes=240)
VERSION = "generator v1"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The problem planted in a chart.

    look: what the oracle does to find it, after reading chart and list.
    evidence: what must have been seen, beside chart and list.
    drugs: the medicines that make it; not graded when `named` says that the prompt tells them.
    answer: further gold, and `submitted` the oracle's arguments for it.
    """

    problem: str
    drugs: tuple[str, ...]
    remedy: Remedy
    look: tuple[Call, ...]
    evidence: tuple[Evidence, ...]
    sources: tuple[str, ...]
    named: bool = False
    accept_problem: tuple[str, ...] = ()
    answer: Mapping[str, AnswerField] = field(default_factory=dict)
    end_state: Mapping[str, Any] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    """Medicines that may be stopped beside `drugs` without harm to innocents."""
    condition: str = ""
    change: tuple[Call, ...] | None = None
    """The oracle's changes, where they are not the remedy's own."""


def make_case(
    draw: Draw, chart: Chart, finding: Finding, *, difficulty: str, names: Mapping[str, str] | None = None
) -> Case:
    """Return the task with its chart.

    Args:
        draw: Where the case stands.
        chart: The patient.
        finding: The planted problem.
        difficulty: easy, medium or hard.
        names: Further words that the family's prompts mention.
    """
    pid, remedy = chart.patient_id, finding.remedy
    template, prompt = prompt_of(draw, {"patient": pid, **(names or {})})
    answer = {
        "problem": AnswerField(gold=finding.problem, accept=finding.accept_problem),
        **remedy.answer(),
        **finding.answer,
    }
    if not finding.named:
        answer["drugs"] = AnswerField(gold=finding.drugs, compare="set", weight=2.0)
    submitted = {name: item.gold for name, item in answer.items()} | {"drugs": list(finding.drugs)}
    changes = remedy.calls(pid) if finding.change is None else finding.change
    seen = (
        Evidence(any_of=(f"{pid}.medications",), label="medication list"),
        Evidence(any_of=(f"{pid}.weight_kg",), label="patient record"),
    )
    solution = (
        Call("view_medications", patient_id=pid),
        Call("view_patient", patient_id=pid),
        *finding.look,
        *remedy.look(pid),
        *changes,
        Call("submit_review", patient_id=pid, **submitted),
    )
    task = Task(
        id=draw.task_id,
        domain=draw.domain,
        split=draw.split,
        family=draw.family,
        seed=draw.seed,
        prompt=prompt,
        difficulty=difficulty,  # type: ignore[arg-type]
        template=template,
        condition=finding.condition or "+".join(sorted(finding.drugs)),
        criteria=Criteria(
            answer=answer,
            end_state={**remedy.end_state(pid), **finding.end_state},
            evidence=(*seen, *finding.evidence, *remedy.evidence(pid)),
            budget=BUDGET,
        ),
        solution=solution,
        provenance=f"synthetic chart, {VERSION}, seed {draw.seed}; facts: {'; '.join(dict.fromkeys(finding.sources))}",
        tags={
            "targets": ",".join(sorted({*finding.drugs, *finding.targets})),
            "keep_one": ",".join(finding.remedy.either),
        },
    )
    return Case(task, {pid: chart})


def prompt_of(draw: Draw, names: Mapping[str, str]) -> tuple[str, str]:
    """Return a template id and the prompt of one of the split's wordings. Raises TaskError when the family has none."""
    wordings: Sequence[str] = _prompts().get(draw.family, {}).get(draw.split, ())
    if not wordings:
        raise TaskError(f"prompts.yaml has no wording for family {draw.family!r} in split {draw.split!r}")
    number = int(draw.rng.integers(len(wordings)))
    return f"{draw.family}/{draw.split}/{number}", wordings[number].format(**names)


@lru_cache(maxsize=1)
def _prompts() -> dict[str, dict[str, list[str]]]:
    return dict(read_yaml(FOLDER / "prompts.yaml"))
