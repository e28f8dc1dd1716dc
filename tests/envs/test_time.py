"""Patients change by the clock, by treatment and by what happens; mother and child share one clock."""

from dataclasses import replace

import pytest

from healthgym.envs import Episode
from healthgym.errors import ContentError, TaskError
from healthgym.registry import load_domain
from healthgym.rollout.markup import render_call
from healthgym.tasks import Case, load_suite
from healthgym.world import Chart, Event, LabResult, VitalSigns, World

WEIGH = render_call("weigh_patient", {"patient_id": "P1"})  # takes one simulated minute


def chart(patient_id="P1", **changes):
    return Chart(**{"patient_id": patient_id, "age_years": 30, "sex": "female", "weight_kg": 70.0, **changes})


def test_treatment_changes_vital_signs_from_its_minute_on():
    course = ((0.0, VitalSigns(systolic_bp_mmhg=80, heart_rate_per_min=130)),)
    world = World({"P1": chart(vital_signs=course), "F1": chart("F1", vital_signs=course)})
    before = world.state.hash()
    world.change_vital_signs("P1", after_minutes=20, systolic_bp_mmhg=105)
    assert world.state.hash() != before and world.vital_signs("P1").systolic_bp_mmhg == 80
    fork = world.fork()
    fork.advance(20)
    assert (fork.vital_signs("P1").systolic_bp_mmhg, fork.vital_signs("P1").heart_rate_per_min) == (105, 130)
    assert fork.vital_signs("F1").systolic_bp_mmhg == 80  # the other patient's stay
    assert world.vital_signs("P1").systolic_bp_mmhg == 80
    with pytest.raises(ContentError, match="Did you mean 'systolic_bp_mmhg'"):
        world.change_vital_signs("P1", systolic_bp=105)
    with pytest.raises(ContentError, match="Did you mean 'gcs'"):
        Event(minute=5, text="He is drowsy.", vital_signs={"gc": 9})


def test_a_later_sample_gives_the_later_value():
    troponin = LabResult(analyte="troponin", value=8.0, unit="ng/L", later=((60.0, 40.0), (180.0, 300.0)))
    assert [troponin.at(minutes) for minutes in (0, 59, 60, 200)] == [8.0, 8.0, 40.0, 300.0]


def test_events_happen_once_at_their_minute_and_reveal_their_facts(fever):
    case = next(load_suite(fever).cases(split="train"))
    events = (
        Event(minute=2, text="He is fitting.", facts=(("findings.seizure", True, ""),), vital_signs={"gcs": 6}),
        Event(minute=3, text="The wound bleeds.", unless={"P1.dressed": True}),
    )
    case = Case(case.task, {"P1": replace(case.charts["P1"], events=events)})
    episode = Episode(case, load_domain(fever))
    episode.apply(WEIGH)
    branch = episode.fork()
    branch.world.state.set("P1.dressed", True)
    told = [[str(one.apply(WEIGH)[0]["content"]) for _ in range(3)] for one in (episode, branch)]
    assert [["fitting" in text for text in texts] for texts in told] == [[True, False, False]] * 2
    assert ["bleeds" in text for text in told[0]] == [False, True, False]
    assert not any("bleeds" in text for text in told[1])  # averted
    assert "[minute 2, P1] He is fitting." in told[0][0]
    assert episode.world.knows("P1.findings.seizure") and episode.world.vital_signs("P1").gcs == 6
    assert episode.world.calls[1].learnt == ("P1.findings.seizure",)


def test_a_question_about_no_patient_needs_no_chart_but_a_treated_patient_does(fever):
    task = next(load_suite(fever).cases(split="train")).task
    submit = task.solution[-1]
    assert Episode(Case(replace(task, solution=(submit,)), {}), load_domain(fever)).world.charts == {}
    with pytest.raises(TaskError, match="the patient is missing"):
        Case(task, {})
