"""Questions that describe a condition by its findings and ask for its name and code."""

from dataclasses import replace

from healthgym.errors import TaskError
from healthgym.knowledge_base import load
from healthgym.knowledge_base.schema import Condition
from healthgym.tasks import AnswerField, Call, Case, task_family
from healthgym.tasks.families import Draw

from .drawing import choose, difficulty_of, ranked
from .finding import HITS, by_search, code_fact, passage_saying
from .partition import asked_in
from .questions import Question, make_case

LIKELY = 0.4
"""A finding at least so probable in another condition makes that one fit as well."""


@task_family(counts={"train": 38, "val": 4, "test": 8, "test_ood": 4})
def condition_naming(draw: Draw) -> Case:
    """Which condition has these findings and, in easier cases, this first treatment; and its ICD-10 code."""
    difficulty = difficulty_of(draw)
    pool = [name for name in load().conditions if asked_in(draw.split, f"name of {name}", ("condition", name))]
    wants = {"easy": "steps", "medium": "drug", "hard": "findings"}[difficulty]
    for kind in (wants, "steps", "findings"):
        for name in ranked(draw, pool):
            clue = _clue(draw, load().conditions[name], kind)
            if clue is not None:
                return make_case(draw, _naming(draw, load().conditions[name], *clue))
    raise TaskError(f"condition_naming {draw.split} {draw.index}: no condition can be told by its findings")


def _clue(draw: Draw, condition: Condition, kind: str) -> tuple[str, str] | None:
    """Return findings in words and a second clue ('' for findings alone); None where they fit another condition too."""
    findings = list(condition.key_findings)
    if kind != "findings":
        clues = condition.first_line if kind == "steps" else [_drug_name(drug) for drug in condition.first_drugs]
        fitting = [text for text in clues if _is_telling(text, condition, kind) and _is_silent_on(text, condition)]
        text = "; ".join(_finding_text(name) for name in findings)
        if not fitting or not _is_silent_on(text, condition):
            return None
        return text, ("first steps include " if kind == "steps" else "a first medicine is ") + choose(draw, fitting)
    likely = [name for name, share in {**condition.symptoms, **condition.signs}.items() if share >= LIKELY]
    shown = list(dict.fromkeys([*findings, *likely]))
    text = "; ".join(_finding_text(name) for name in shown)
    is_alone = not any(_fits(other, shown) for other in load().conditions.values() if other is not condition)
    return (text, "") if len(shown) >= 3 and is_alone and _is_silent_on(text, condition) else None


def _fits(condition: Condition, findings: list[str]) -> bool:
    """Say whether every finding is likely in a condition."""
    known = {**condition.symptoms, **condition.signs}
    return all(known.get(name, 0.0) >= 0.1 for name in findings)


def _is_telling(clue: str, condition: Condition, kind: str) -> bool:
    """Say whether no other condition has all key findings and the clue."""
    return not any(
        _fits(other, list(condition.key_findings))
        and clue in (other.first_line if kind == "steps" else map(_drug_name, other.first_drugs))
        for other in load().conditions.values()
        if other is not condition
    )


def _is_silent_on(text: str, condition: Condition) -> bool:
    """Say whether a text names none of the longer words of the condition's names."""
    names = " ".join((condition.name, condition.id.replace("_", " "), *condition.aliases)).lower()
    return not any(word in text.lower() for word in names.split() if len(word) > 4)


def _finding_text(name: str) -> str:
    kb = load()
    return kb.symptoms[name].text if name in kb.symptoms else kb.signs[name].text.rstrip(".").lower()


def _drug_name(drug: str) -> str:
    return load().drugs[drug].name if drug in load().drugs else drug.replace("_", " ")


def _naming(draw: Draw, condition: Condition, findings: str, clue: str) -> Question:
    names = (condition.id, condition.id.replace("_", " "), *condition.aliases)
    asked = f"key findings {findings}"
    described = by_search(
        "a condition with these findings",
        asked[:380],
        passage_saying(f"condition:{condition.id}:presentation", "Key findings"),
        condition.source,
    )
    coded = replace(code_fact(condition.id), label="the overview of that condition")
    first = load().symptoms if condition.key_findings[0] in load().symptoms else load().signs
    narrow = Call("conditions_with_finding", finding=first[condition.key_findings[0]].text)
    search = (narrow, Call("search_evidence", query=asked[:380], k=HITS))
    return Question(
        names={"findings": findings, "clue": f"; {clue}" if clue else ""},
        lookups=(replace(described, search=search), coded),
        difficulty=difficulty_of(draw),
        condition=condition.id,
        answer={
            "term": AnswerField(gold=condition.name, accept=names),
            "code": AnswerField(gold=condition.icd10, compare="code"),
        },
    )
