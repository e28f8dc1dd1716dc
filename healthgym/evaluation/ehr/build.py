"""Builds the items: every question answered by two independent queries, then drawn so that answers spread."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from healthgym.errors import HealthgymError
from healthgym.evaluation.ehr.answers import Value
from healthgym.evaluation.ehr.checks import checks_of
from healthgym.evaluation.ehr.checks.rows import PatientRows
from healthgym.evaluation.ehr.cohort import place_of
from healthgym.evaluation.ehr.store import Store
from healthgym.evaluation.ehr.template import Asked, Template, ask_of, load_templates
from healthgym.evaluation.items import Item

PER_TEMPLATE = 30
NOT_MEASURED_SHARE = 0.2
"""Most of a template's items that may have nothing to find."""
LARGEST_SHARE = 0.6
"""Most of a template's items that may share one answer, so that none is right by habit."""


@dataclass(frozen=True, kw_only=True)
class Built:
    """The items and how they came about.

    asked: questions answered both ways, by template.
    left_out: why a template has no items, by template.
    """

    items: tuple[Item, ...]
    asked: Mapping[str, int]
    left_out: Mapping[str, str] = field(default_factory=dict)


class AnswersDisagree(HealthgymError):
    """The two queries to some answers differ, so neither can be trusted; names template, unit and both answers."""


def build_items(store: Store, *, per_template: int = PER_TEMPLATE, seed: int = 0) -> Built:
    """Answer every template for every unit of the drawn patients both ways, and draw items from them.

    Raises:
        AnswersDisagree: The two ways differ for some units.
    """
    templates = load_templates(store.schema.name)
    answers: dict[str, list[tuple[Asked, Value]]] = {name: [] for name in templates}
    disagreements: list[str] = []
    for patient, questions in _by_patient(store, templates.values(), seed):
        rows = PatientRows(lambda table, patient=patient: store.rows_of(patient, table))  # type: ignore[misc]
        for asked in questions:
            answer = sql_answer(store, asked)
            second = settle(asked.template, checks_of(store.schema.name)[asked.template.name](rows, asked.fields))
            if not is_same(answer, second):
                disagreements.append(f"{asked.template.name} of {asked.unit}: query {answer!r}, check {second!r}")
            answers[asked.template.name].append((asked, answer))
    if disagreements:
        shown = "\n  ".join(disagreements[:20])
        raise AnswersDisagree(
            f"{len(disagreements)} answers differ between the query and its check, so no item was made:\n  {shown}"
        )
    items: list[Item] = []
    left_out: dict[str, str] = {}
    for name, answered in answers.items():
        chosen = spread(answered, per_template, seed)
        if not chosen:
            kinds = len({answer for _, answer in answered})
            left_out[name] = f"{len(answered)} questions with {kinds} different answers"
        items += [_item(store, asked, answer) for asked, answer in chosen]
    return Built(
        items=tuple(sorted(items, key=lambda item: item.id)),
        asked={name: len(answered) for name, answered in answers.items()},
        left_out=left_out,
    )


def sql_answer(store: Store, asked: Asked) -> Value:
    """Return the answer of the template's query over all drawn patients."""
    found = store.query(asked.sql)
    if len(found) > 1:
        raise HealthgymError(f"{asked.template.name} of {asked.unit}: the query gave {len(found)} rows, expected one")
    return settle(asked.template, found[0][0] if found else None)


def settle(template: Template, value: Any) -> Value:
    """Return an answer in the form of its kind: whole numbers as int, others rounded to a millionth, empty text as None."""
    if value is None or value == "":
        return None
    if template.kind in ("count", "score"):
        if not float(value).is_integer():
            raise HealthgymError(f"{template.name}: a {template.kind} must be whole, got {value!r}")
        return int(value)
    return round(float(value), 6) if template.kind == "number" else str(value)


def is_same(first: Value, second: Value) -> bool:
    """Say whether two answers agree; numbers within two millionths, for sums may run in another order."""
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-9, abs_tol=2e-6)
    return first == second


def spread(answered: Sequence[tuple[Asked, Value]], most: int, seed: int) -> list[tuple[Asked, Value]]:
    """Draw at most `most` questions of a template: few without an answer, and no answer more often than LARGEST_SHARE.

    A template all of whose answers are alike gives none.
    """
    order = sorted(answered, key=lambda one: (place_of("item", seed, one[0].template.name, one[0].unit), one[0].unit))
    measured = Counter(answer for _, answer in order)
    limits = {answer: max(1, math.floor(most * LARGEST_SHARE)) for answer in measured}
    limits[None] = max(1, math.floor(most * NOT_MEASURED_SHARE))
    chosen: list[tuple[Asked, Value]] = []
    counts: Counter[Value] = Counter()
    for asked, answer in order:
        if len(chosen) < most and counts[answer] < limits[answer]:
            chosen.append((asked, answer))
            counts[answer] += 1
    for share, answer in ((NOT_MEASURED_SHARE, None), (LARGEST_SHARE, _commonest(counts))):
        others = len(chosen) - counts[answer]
        allowed = math.floor(others * share / (1 - share) + 1e-9)
        kept = 0
        for one in list(chosen):
            if one[1] == answer:
                kept += 1
                if kept > allowed:
                    chosen.remove(one)
        counts[answer] = min(counts[answer], allowed)
    return chosen


def _commonest(counts: Counter[Value]) -> Value:
    measured = {answer: count for answer, count in counts.items() if answer is not None}
    return max(measured, key=lambda answer: (measured[answer], str(answer))) if measured else None


def _by_patient(store: Store, templates: Iterable[Template], seed: int) -> Iterable[tuple[str, list[Asked]]]:
    """Yield each patient with all questions asked about them, so that one patient's rows are held at a time."""
    by_patient: dict[str, list[Asked]] = {patient: [] for patient in store.patients}
    units: dict[str, list[dict[str, Any]]] = {}
    for template in templates:
        if template.units not in units:
            cursor = store.connection.execute(store.schema.units[template.units])
            names = [column[0] for column in cursor.description]
            units[template.units] = [dict(zip(names, row, strict=True)) for row in cursor]
        for columns in units[template.units]:
            asked = ask_of(template, columns, seed)
            by_patient[store.patient_of[asked.owner]].append(asked)
    return by_patient.items()


def _item(store: Store, asked: Asked, answer: Value) -> Item:
    template = asked.template
    patient = store.patient_of[asked.owner]
    content = {
        "template": template.name,
        "patient": patient,
        "question": asked.question,
        "kind": template.kind,
        "unit": template.unit,
        "tolerance": template.tolerance,
        "gold": answer,
        "sql": asked.sql,
    }
    strata = {
        "template": template.name,
        "kind": template.kind,
        "measured": "no" if answer is None else "yes",
    }
    return Item(id=f"{template.name}-{asked.unit}", content=content, cluster=patient, strata=strata)
