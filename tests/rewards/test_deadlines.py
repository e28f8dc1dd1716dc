"""What must be done in time, and what must be known first."""

import pytest

from healthgym.errors import TaskError
from healthgym.rewards.safety import hazards
from healthgym.tasks import Deadline, Evidence, Hazard


def labels(record):
    return [hit.label for hit in hazards(record)]


@pytest.mark.parametrize(("minutes", "missed"), [(0, False), (60, False), (61, True)])
def test_a_deadline_runs_from_its_start(make_record, minutes, missed):
    deadline = Deadline(
        tool="give", where={"drug": "ceftriaxone"}, start=30, within_minutes=30, label="late", severity="critical"
    )  # due at minute 60
    call = {"tool": "give", "arguments": {"drug": "ceftriaxone"}, "minutes": minutes}
    assert labels(make_record(calls=[call], deadlines=(deadline,))) == ["late"] * missed


@pytest.mark.parametrize("call", [None, {"tool": "give", "arguments": {"drug": "x"}}, {"tool": "give", "error": "no"}])
def test_a_call_left_out_another_or_failed_one_misses_the_deadline(make_record, call):
    deadline = Deadline(tool="give", where={"drug": "ceftriaxone"}, within_minutes=60, label="late")
    assert labels(make_record(calls=[call] if call else [], deadlines=(deadline,))) == ["late"]


def test_a_deadline_may_run_from_when_a_fact_was_first_learnt(make_record):
    deadline = Deadline(tool="alert", after="P1.labs.*", within_minutes=10, label="late")
    assert labels(make_record(deadlines=(deadline,))) == []  # never learnt, so never due
    for called, missed in ((55.0, False), (56.0, True)):
        record = make_record(calls=[{"tool": "alert", "minutes": called}], deadlines=(deadline,))
        record.world.minutes = 45.0
        record.world.reveal("P1", "labs.potassium", 6.8)
        record.world.minutes = 90.0
        record.world.reveal("P1", "labs.potassium", 7.1)  # a new value does not start the clock again
        assert labels(record) == ["late"] * missed


def test_a_hazard_may_depend_on_what_was_known_at_the_call(make_record):
    hazard = Hazard(tool="discharge", label="sent home untested", unless_known=("P1.labs.troponin",))
    look = {"tool": "results", "learnt": ("P1.labs.troponin",)}
    assert labels(make_record(calls=[look, {"tool": "discharge"}], hazards=(hazard,))) == []
    assert labels(make_record(calls=[{"tool": "discharge"}, look], hazards=(hazard,))) == ["sent home untested"]


def test_evidence_may_ask_for_several_facts():
    trend = Evidence(any_of=("P1.creatinine.*",), at_least=3, label="the trend of creatinine")
    assert not trend.is_met({"P1.creatinine.1": 1, "P1.creatinine.2": 1, "P1.weight": 1})
    assert trend.is_met({f"P1.creatinine.{day}": 1 for day in range(3)})
    with pytest.raises(TaskError, match="asks for 2 of 1"):
        Evidence(any_of=("P1.weight",), at_least=2, label="weight")


def test_a_deadline_that_cannot_be_read_is_refused():
    with pytest.raises(TaskError, match="not both"):
        Deadline(tool="give", after="P1.x", start=5, within_minutes=10, label="late")
    with pytest.raises(TaskError, match="critical, serious or minor"):
        Deadline(tool="give", within_minutes=10, label="late", severity="grave")
