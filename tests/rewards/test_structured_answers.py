"""Reports are graded finding by finding, notes phrase by phrase, and the end state with partial credit too."""

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from healthgym.errors import TaskError, ToolError
from healthgym.rewards.accuracy import accuracy
from healthgym.tasks import AnswerField, grade_items, matches
from healthgym.tasks.answers import grade_field
from healthgym.tasks.mentions import says
from healthgym.toolkit import Toolkit, tool
from healthgym.world import World

NODULE = {"finding": "nodule", "present": True, "location": "right_upper_lobe", "size_mm": 12, "change": "larger"}
REPORT = AnswerField(
    gold=(NODULE, {"finding": "effusion", "present": False}),
    compare="items",
    match=("finding", "present"),
    each={"size_mm": {"compare": "range", "tolerance": 2}},
    ignore={"present": False},
)


class Finding(BaseModel):
    finding: Literal["nodule", "effusion", "mass"]
    present: bool
    location: str | None = Field(None, description="Lobe.")
    size_mm: Annotated[float, Field(gt=0)] | None = None


class Reading(Toolkit):
    domain = "reading"

    @tool(effect="submit")
    def submit_report(self, findings: list[Finding]) -> str:
        """Submit the report.

        Args:
            findings: One entry a finding.
        """
        return f"{len(findings)} findings, first {findings[0].finding}."


@pytest.mark.parametrize(
    ("report", "credit"),
    [
        ([NODULE, {"finding": "effusion", "present": False}], 1.0),
        ([{"finding": "Effusion", "present": False}, {**NODULE, "size_mm": 13.5}], 1.0),  # order, case, tolerance
        ([{**NODULE, "size_mm": 20, "change": "stable"}, REPORT.gold[1]], 0.8),  # nodule 3/5: 2(0.6+1)/(2+2)
        ([NODULE], 2 / 3),  # 2*1/(2+1)
        ([*REPORT.gold, {"finding": "mass", "present": True}], 0.8),  # a finding too many: 2*2/(2+3)
        ([*REPORT.gold, {"finding": "mass", "present": False}], 1.0),  # one more normal finding costs nothing
        ([{**NODULE, "present": False}, REPORT.gold[1]], 2 / 3),  # denied: unpaired, and free as a normal finding
        ([NODULE, NODULE, REPORT.gold[1]], 0.8),  # said twice is one too many
        ([], 0.0),
        ("nodule", 0.0),
    ],
)
def test_a_report_is_graded_finding_by_finding(report, credit):
    assert grade_field(REPORT, report) == pytest.approx(credit)


def test_alike_findings_are_paired_to_the_agents_best_advantage():
    # 11 fits both, 13 fits only 12: taking 12 for the 11 would leave 10 without its partner
    field = AnswerField(gold=(12, 10), compare="items", each={"value": {"compare": "range", "tolerance": 1}})
    assert grade_field(field, [11, 13]) == 1.0
    assert [item.parts for item in grade_items(field, [13])] == [{"value": 1.0}, {"value": 0.0}]


def test_items_may_be_plain_codes():
    field = AnswerField(gold=("I21.4", "E11.9"), compare="items", each={"value": {"compare": "code", "prefix": 3}})
    assert grade_field(field, ["E119", "I21"]) == 1.0


def test_a_shared_prefix_may_earn_part_of_the_credit():
    field = AnswerField(gold="I21.4", compare="code", prefix=3, adjacent_credit=0.5)
    assert [grade_field(field, code) for code in ("I214", "I21.9", "I20")] == [1.0, 0.5, 0.0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"match": ("organ",)}, "lacks 'organ'"),
        ({"each": {"size_mm": {"compare": "rang"}}}, "Did you mean 'range'"),
        ({"gold": "nodule"}, "needs a list"),
        ({"gold": tuple({"finding": "nodule"} for _ in range(11)), "match": ("finding",)}, "name more parts"),
    ],
)
def test_item_rules_that_cannot_work_are_refused(changes, words):
    with pytest.raises(TaskError, match=words):
        AnswerField(**{"gold": (NODULE,), "compare": "items", **changes})


@pytest.mark.parametrize(
    ("text", "phrase", "said"),
    [
        ("Allergic to PENICILLIN.", "allergic to penicillin", True),
        ("No penicillin allergy", "penicillin allergy", False),
        ("Penicillin allergy: none", "penicillin allergy", False),
        ("No fever, penicillin allergy noted", "penicillin allergy", True),
        ("not febrile but penicillin allergy", "penicillin allergy", True),
        ("No rash.", "no rash", True),
        ("nodule 112 mm", "12 mm", False),
        ("nodule 12mm", "12 mm", True),
        ("INR 2.5", "2", False),
        ("INR is 2.", "2", True),
        ("give drug_a", ("drug b", "drug a"), True),
    ],
)
def test_a_phrase_is_said_when_it_stands_whole_and_is_not_denied(text, phrase, said):
    assert says(text, phrase) is said


def test_a_note_earns_the_share_of_what_it_must_say():
    note = AnswerField(
        gold=("hip fracture", ("penicillin allergy", "allergic to penicillin"), "nil by mouth", "INR 1.4"),
        compare="mentions", unwanted=("warfarin continued",), max_words=20,
    )  # fmt: skip
    text = "Hip fracture. Allergic to penicillin. Nil by mouth."
    assert grade_field(note, text) == 0.75
    assert grade_field(note, text + " Warfarin continued.") == 0.5  # one of four lost to what it must not say
    assert grade_field(note, note.example) == 1.0
    assert grade_field(note, note.example + " word" * 20) == 0.0  # too long to be a note


def test_conditions_look_into_texts_and_lists():
    values = {"note": "Stop metformin.", "codes": ["I21.4"], "steps": ["a", "b"]}
    assert matches(values, {"note": {"mentions": ["metformin"], "omits": ["warfarin"], "max_words": 2}})
    assert not matches(values, {"note": {"omits": ["metformin"]}})
    assert not matches(values, {"note": {"max_words": 1}})
    assert matches(values, {"codes": {"contains": "i21.4"}, "steps": ("A", "b")})  # a list equals a tuple


def test_the_end_state_may_earn_partial_credit_with_a_weight(make_record):
    record = make_record(
        state=[("P1.note", "hip fracture")], submission={"level": 2},
        end_state={"P1.note": AnswerField(gold=("hip fracture", "INR 1.4"), compare="mentions", weight=3.0)},
    )  # fmt: skip
    assert accuracy(record)[0] == pytest.approx(0.625)  # (1*1 + 3*0.5) / 4


def test_every_part_of_every_finding_can_be_read_from_the_grade(make_record):
    given = [{**NODULE, "size_mm": 30}]
    mean, parts = accuracy(make_record(answer={"findings": REPORT}, submission={"findings": given}))
    assert mean == pytest.approx(1.6 / 3)  # 2*0.8/(2+1)
    assert (parts["answer.findings.0.location"], parts["answer.findings.0.size_mm"]) == (1.0, 0.0)
    assert parts["answer.findings.1.present"] == 0.0


def test_a_tool_takes_objects_and_the_record_keeps_them_as_json():
    given = [{"finding": "nodule", "present": True, "size_mm": "12"}]
    result = Reading(World({})).call("submit_report", {"findings": given})
    assert result.content == "1 findings, first nodule."
    assert result.arguments == {"findings": [{"finding": "nodule", "present": True, "size_mm": 12.0}]}


def test_nested_texts_are_limited_and_left_out_of_the_compact_schema():
    spec = Reading.specs()["submit_report"]
    with pytest.raises(ToolError, match=r"10,000 characters"):
        spec.validate({"findings": [{"finding": "nodule", "present": True, "location": "x" * 10_000}]})
    compact = spec.schema_for("compact")["function"]["parameters"]["properties"]["findings"]
    assert "Lobe." in str(spec.parameters) and "Lobe." not in str(compact) and "description" not in compact
