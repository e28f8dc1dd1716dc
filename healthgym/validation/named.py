"""Proof that a case can be played at all: what it names exists, and a laboratory test comes in one unit."""

import re
from collections.abc import Iterable

from healthgym.content import place_of_name
from healthgym.registry import Domain
from healthgym.tasks import Case
from healthgym.tasks.names import misnamed
from healthgym.validation.failures import FailureLog

_QUOTED = re.compile(r"'([^']+)'")


def prove_names(case: Case, domain: Domain, log: FailureLog) -> bool:
    """Log what a case names and nothing has; say whether it can be played. The sentences hold their own remedies."""
    problems = misnamed(case, domain)
    for problem in problems:
        what, _, remedy = problem.partition(".")
        quoted = _QUOTED.search(problem)
        where = place_of_name(quoted[1], domain.folder) if quoted else ""
        log.add("family", case.task.family, what, remedy.strip() or "Mend the name.", example=case.task.id, where=where)
    return not problems


def prove_units(cases: Iterable[Case], log: FailureLog) -> None:
    """Log a laboratory test whose results come in two units, of which one must be wrong."""
    first: dict[str, tuple[str, str]] = {}
    for case in cases:
        for chart in case.charts.values():
            for lab in chart.lab_results.values():
                unit, task_id = first.setdefault(lab.analyte, (lab.unit, case.task.id))
                if lab.unit != unit:
                    log.add(
                        "family", case.task.family,
                        f"the laboratory test {lab.analyte!r} comes in {lab.unit!r} here and in {unit!r} elsewhere",
                        "Give one unit to every result of a test, and convert the value.",
                        example=f"{case.task.id} and {task_id}",
                    )  # fmt: skip
