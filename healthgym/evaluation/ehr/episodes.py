"""Items as episodes: a domain around the tools, and a case around each item."""

from typing import Any

from healthgym.evaluation.ehr.answers import gold_field
from healthgym.evaluation.ehr.schema import FOLDER
from healthgym.evaluation.ehr.store import Store
from healthgym.evaluation.ehr.toolkit import toolkit_for
from healthgym.evaluation.items import Item
from healthgym.registry import Domain
from healthgym.tasks import Budget, Call, Case, Criteria, Task
from healthgym.world import Chart

BUDGET = Budget(turns=12, tool_calls=24)
RULES = """Answer one question to a patient's record, exactly as the question defines it. Look the answer up with the tools:
nothing about the patient is known before. Submit a number with its unit where it has one; yes or no; a code or a name as it
stands in the table; a time as YYYY-MM-DD HH:MM. Submit "not measured" where the question says so."""


def domain_of(store: Store) -> Domain:
    """Return the domain whose tools look into the store."""
    schema = store.schema
    return Domain(
        name="ehr",
        title=f"the records of {schema.title}",
        description=f"Questions to the tables of {schema.title}.",
        guideline=f"{RULES}\n\n{schema.guide}",
        toolkit=toolkit_for(store),
        families={},
        hazard_rules=(),
        budget=BUDGET,
        folder=FOLDER,
    )


def case_of(item: Item) -> Case:
    """Return the episode's case: the chart names the patient and the answer's form, the tables hold the rest."""
    content = item.content
    patient = str(content["patient"])
    task = Task(
        id=item.id,
        domain="ehr",
        split="test",
        family=str(content["template"]),
        prompt=str(content["question"]),
        criteria=Criteria(
            end_state={
                f"{patient}.answer": gold_field(
                    content["kind"], content["unit"], content["gold"], float(content["tolerance"])
                )
            },
            budget=BUDGET,
        ),
        solution=(Call("run_sql", query=content["sql"]), submission_of(content)),
        provenance="computed from the tables by two independent queries",
    )
    # Age, sex and weight are required of every chart; no tool here reads them, the record is in the tables.
    chart = Chart(
        patient_id=patient,
        age_years=0.0,
        sex="female",
        weight_kg=0.0,
        extra={"answer_form": {"kind": content["kind"], "unit": content["unit"]}},
    )
    return Case(task, {patient: chart})


def submission_of(content: Any) -> Call:
    """Return the call that submits an item's gold."""
    if content["gold"] is None:
        return Call("submit_answer", value="not measured")
    return Call("submit_answer", value=content["gold"], **({"unit": content["unit"]} if content["unit"] else {}))
