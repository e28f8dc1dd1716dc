"""Golds are typed and compared by rule; tasks that cannot be graded do not exist."""

import pytest

from healthgym.errors import TaskError
from healthgym.tasks import AnswerField, Call, Criteria, Evidence, Hazard, Task, grade_answer, matches
from healthgym.tasks.answers import grade_field


@pytest.mark.parametrize(
    ("field", "value", "credit"),
    [
        (AnswerField(gold="Home"), "home ", 1.0),
        (AnswerField(gold="D"), "vitamin D", 0.0),  # no letter is scraped out of a word
        (AnswerField(gold=2), 2, 1.0),
        (AnswerField(gold=True), True, 1.0),
        (AnswerField(gold=("a", "b"), compare="set"), ["b", "A"], 1.0),
        (AnswerField(gold=("a", "b"), compare="set"), ["a"], 2 / 3),  # F1: 2*1/(1+2)
        (AnswerField(gold=(), compare="set"), [], 1.0),
        (AnswerField(gold=5.0, compare="range", tolerance=0.5), 5.5, 1.0),
        (AnswerField(gold=5.0, compare="range", tolerance=0.5), 5.6, 0.0),
        (AnswerField(gold=2, compare="ordinal", scale=(1, 2, 3), adjacent_credit=0.4), 3, 0.4),
        (AnswerField(gold=1, compare="ordinal", scale=(1, 2, 3), adjacent_credit=0.4), 3, 0.0),
        (AnswerField(gold="I21.4", compare="code", prefix=3), "i21.9", 1.0),
        (AnswerField(gold="I21.4", compare="code"), "I219", 0.0),
        (AnswerField(gold="x"), None, 0.0),
    ],
)
def test_credit_by_rule(field, value, credit):
    assert grade_field(field, value) == pytest.approx(credit)


def test_nothing_submitted_earns_nothing():
    assert grade_answer({"level": AnswerField(gold=2)}, None) == {"level": 0.0}


@pytest.mark.parametrize("gold", [None, "", "  "])
def test_an_empty_gold_is_refused(gold):
    with pytest.raises(TaskError, match="no gold"):
        AnswerField(gold=gold)


def test_criteria_without_gold_are_refused():
    with pytest.raises(TaskError, match="neither answer nor end_state"):
        Criteria(hazards=(Hazard(tool="x", label="y"),))


def test_a_task_without_a_solution_is_refused():
    with pytest.raises(TaskError, match="no solution"):
        Task(
            id="a",
            domain="d",
            split="train",
            prompt="p",
            criteria=Criteria(end_state={"P1.x": 1}),
            solution=(),
            provenance="",
        )


def test_predicates_compare_by_operator_and_reject_unknown_ones():
    where = {"patient_id": "P1", "dose_mg": {"gt": 100}, "drug": {"in": ["Aspirin", "ibuprofen"]}}
    assert matches({"patient_id": "P1", "dose_mg": 101, "drug": "aspirin"}, where)
    assert not matches({"patient_id": "P1", "dose_mg": 100, "drug": "aspirin"}, where)
    assert not matches({"patient_id": "P1", "drug": "aspirin"}, where)  # an absent dose is not above 100
    with pytest.raises(TaskError, match="Did you mean 'gt'"):
        Hazard(tool="x", where={"dose_mg": {"gte": 1}}, label="y")


def test_evidence_is_met_by_any_of_its_keys_or_a_prefix():
    evidence = Evidence(any_of=("P1.labs.troponin", "P1.vital_signs.*"), label="vital signs")
    assert evidence.is_met({"P1.vital_signs.spo2_percent": 1})
    assert not evidence.is_met({"P2.vital_signs.spo2_percent": 1})


def test_solution_turns_group_the_calls():
    task = Task(
        id="a",
        domain="d",
        split="train",
        prompt="p",
        criteria=Criteria(end_state={"P1.x": 1}),
        solution=(Call("a"), Call("b"), Call("c")),
        solution_turns=(2, 1),
        provenance="",
    )
    assert [[call.tool for call in turn] for turn in task.turns_of_solution()] == [["a", "b"], ["c"]]
