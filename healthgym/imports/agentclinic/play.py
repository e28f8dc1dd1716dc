"""One row of an import as chart, prompt and proof."""

from collections.abc import Mapping
from typing import Any

from healthgym.errors import ToolError
from healthgym.imports.agentclinic.matching import Item, items_of, meant, readable
from healthgym.world import Allergy, Chart, Finding, Medication, World

HISTORY_NEEDED, EXAM_NEEDED = 3, 2
"""Facts of the history and parts of the examination that must have been seen, as far as the case has so many."""
AS_TOLD = "as_told"
"""Stands in the chart's lists of medicines, allergies and illnesses: the actor's own words tell of them."""
QUESTIONS = (
    "What brings you here today?",
    "When did it start, and what happened?",
    "Do you have any other symptoms?",
    "Any illnesses or operations in the past?",
    "Do you take any medicines?",
    "Any allergies?",
    "Do you smoke or drink, and what is your work?",
)
GUIDELINE = """# Imported consultations

A patient has come with a complaint. Ask with `ask_patient`, examine with `examine` (one part of the body or a group of signs at a
time), order tests one by one with `order_test`, by their usual names. You learn only what you ask, examine and order for. A test that the
case does not hold has no result: order another.

End with `submit_diagnosis`: one diagnosis, by its usual full name, with what belongs to it (type, side, acute or chronic).
It is compared strictly: case, punctuation, British or American spelling, word order around one comma and an acronym in brackets make no
difference; every other word does. A list of possibilities is wrong.
"""


def prompt_of(row: Mapping[str, Any]) -> str:
    """Return what the agent reads first."""
    age = row["age_years"]
    years = f"{age:g} years" if age >= 2 else f"{round(age * 12)} months" if age >= 1 / 12 else "under a month"
    return f"{row['objective']}\n\nThe patient is P1: {row['sex']}, {years}. Find the diagnosis and submit it."


def chart_of(row: Mapping[str, Any]) -> Chart:
    """Return the chart of a case; the weight is not known and stands as 0."""
    findings = tuple(
        Finding(
            id=fact["id"],
            reveal="ask",
            present=fact["present"],
            text=fact["text"],
            lay=fact["text"] if fact["text"][-1] in ".!?" else f"{fact['text']}.",
            topics=tuple(fact["topics"].split()),
        )
        for fact in row["facts"]
    )
    return Chart(
        patient_id="P1",
        age_years=row["age_years"],
        sex=row["sex"],
        weight_kg=0.0,
        findings=findings,
        condition=row["gold"],
        comorbidities=(AS_TOLD,),
        medications=(Medication(drug=AS_TOLD, dose_mg=0.0),),
        allergies=(Allergy(substance=AS_TOLD),),
        extra={"exam": row["exam"], "tests": row["tests"]},
    )


def solve(row: Mapping[str, Any]) -> tuple[list[list[Any]], dict[str, int]]:
    """Return calls that look at enough, as [tool, arguments], and how much of each part must have been seen.

    Raises:
        ContentError: Nothing that the patient knows can be asked for.
    """
    world = World({"P1": chart_of(row)})
    calls: list[list[Any]] = []
    for question in QUESTIONS:
        before = len(world.facts)
        world.ask("P1", question)
        if len(world.facts) > before:
            calls.append(["ask_patient", {"patient_id": "P1", "question": question}])
    told = [key for key in world.facts if key.startswith("P1.findings.") and "unrecorded" not in key]
    exam, tests = _one_by_one(row["exam"], groups=True), _one_by_one(row["tests"], groups=False)
    calls += [["examine", {"patient_id": "P1", "part": name}] for name in exam]
    calls += [["order_test", {"patient_id": "P1", "test": name}] for name in tests]
    needed = {
        "history": min(HISTORY_NEEDED, len(told)),
        "exam": min(EXAM_NEEDED, len(exam)),
        "tests": min(1, len(tests)),
    }
    return calls, needed


def _one_by_one(tree: Mapping[str, Any], *, groups: bool) -> list[str]:
    """Return requests that show all of a tree, each meaning one item; what no request can mean alone is left out."""
    items = items_of(tree)
    requests: list[str] = []
    shown: set[str] = set()
    for item in items:
        if set(item.leaves) <= shown:
            continue
        for request in (item.name, " ".join(map(readable, item.path))):
            if _means(request, item, items, groups):
                requests.append(request)
                shown |= set(item.leaves)
                break
    return requests


def _means(request: str, item: Item, items: list[Item], groups: bool) -> bool:
    try:
        return meant(request, items, groups_too=groups, kind="test") == item
    except ToolError:
        return False


def exam_parts(row_exam: Mapping[str, Any]) -> list[str]:
    """Return the readable names of the parts that an examination holds."""
    return [readable(key) for key in row_exam]
