"""Finds what a case names and nothing has: tools, arguments, patients, and charts whose own ids disagree."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from healthgym.errors import nearest
from healthgym.tasks.families import Case
from healthgym.tasks.task import Task

if TYPE_CHECKING:
    from healthgym.registry import Domain


def misnamed(case: Case, domain: "Domain") -> list[str]:
    """Return one sentence, remedy included, for each name in a case that leads nowhere; none when all is well."""
    return [*_tools(case.task, domain), *_answer(case.task, domain), *_patients(case), *_charts(case)]


def _tools(task: Task, domain: "Domain") -> Iterator[str]:
    known = domain.tools
    criteria = task.criteria
    permitted = {name: known[name] for name in task.tools if name in known} if task.tools else known
    for name in task.tools:
        if name not in known:
            yield f"its tools list {name!r}, which the domain does not have.{nearest(name, known)}"
    for name in dict.fromkeys(call.tool for call in task.solution):
        if name not in known:
            yield f"its solution calls {name!r}, which the domain does not have.{nearest(name, known)}"
        elif name not in permitted:
            yield f"its solution calls {name!r}, which its own list of tools leaves out. Add it there."
    used = [("hazard", hazard.tool) for hazard in criteria.hazards]
    used += [("deadline", deadline.tool) for deadline in criteria.deadlines]
    used += [("order", name) for order in criteria.order for name in (order.first, order.then)]
    for kind, name in dict.fromkeys(used):
        if name not in known:
            yield f"its {kind} watches {name!r}, which the domain does not have.{nearest(name, known)}"


def _answer(task: Task, domain: "Domain") -> Iterator[str]:
    submit = domain.submit_tool
    arguments = submit.parameters["properties"]
    for name in task.criteria.answer:
        if name not in arguments:
            yield f"its answer has {name!r}, which is no argument of {submit.name}.{nearest(name, arguments)}"


def _patients(case: Case) -> Iterator[str]:
    task, charts = case.task, case.charts
    named = [("solution", call.arguments.get("patient_id")) for call in task.solution]
    if charts:
        keys: list[tuple[str, Any]] = [("evidence", key) for item in task.criteria.evidence for key in item.any_of]
        keys += [("end_state", key) for key in task.criteria.end_state]
        named += [(where, key.partition(".")[0]) for where, key in keys if _begins_with_patient(key)]
    for where, name in dict.fromkeys(named):
        if isinstance(name, str) and name and name not in charts:
            have = ", ".join(sorted(charts)) or "no chart"
            yield f"its {where} names patient {name!r}, but the case holds {have}. Add the chart or mend the id."


def _begins_with_patient(key: str) -> bool:
    """Say whether a fact's key or state path begins with a patient's id such as P1."""
    first, dot, _ = key.partition(".")
    return bool(dot) and first[:1] == "P" and first[1:].isdigit()


def _charts(case: Case) -> Iterator[str]:
    for name, chart in case.charts.items():
        if chart.patient_id != name:
            yield f"its chart {name!r} calls its patient {chart.patient_id!r}. Give both the same id."
        for item, count in Counter(finding.id for finding in chart.findings).items():
            if count > 1:
                yield f"chart {name!r} has {count} findings with the id {item!r}. Rename or remove one."
        for key, lab in chart.lab_results.items():
            if lab.analyte != key:
                yield f"chart {name!r} keeps the result of {lab.analyte!r} under {key!r}. Give both the same name."
