"""Scripted policies: the oracle earns full marks as text and as tokens; plans are played as given."""

import pytest

from healthgym.envs import parse_action
from healthgym.errors import TaskError
from healthgym.rollout import OraclePolicy, PolicySource, collect
from healthgym.rollout.policy import TurnRequest
from healthgym.rollout.scripted import render_call
from healthgym.tasks import Call


def test_the_oracle_earns_full_marks_as_text_and_as_tokens(suite, make_episode, jobs, template):
    text = collect(jobs, OraclePolicy(suite), make_episode)
    tokens = collect(jobs, OraclePolicy(suite, template=template), make_episode, template=template)
    for one, other in zip(text, tokens, strict=True):
        assert one.reward == other.reward == 1.0 and one.grade == other.grade
        assert one.tool_calls == other.tool_calls
        assert not one.completion_ids and other.completion_ids


def test_the_oracle_can_speak(suite, make_episode, jobs):
    policy = OraclePolicy(suite, prose=lambda task, turn: f"Step {turn + 1} of {task.id}.")
    (made,) = collect(jobs[:1], policy, make_episode)
    said = [message["content"] for message in made.messages if message["role"] == "assistant"]
    assert said[1] == f"Step 2 of {made.task_id}." and made.reward == 1.0


def test_an_oracle_that_outlives_its_solution_is_an_error_of_the_task(suite, jobs):
    policy = OraclePolicy(suite)
    past = [{"role": "assistant", "content": "x"}] * 9
    policy.submit(TurnRequest(0, jobs[0].task_id, past, []))
    with pytest.raises(TaskError, match="asks for turn 10"):
        policy.poll()


def test_rendered_calls_read_back():
    arguments = {"text": 'line\n"quoted" </b> é', "n": 2.5, "flag": True, "none": None, "list": [1, "a"]}
    action = parse_action(render_call("order_lab", arguments))
    assert [(call.name, dict(call.arguments)) for call in action.calls] == [("order_lab", arguments)]
    assert action.content == "" and not action.problems


def test_plans_are_played_turn_by_turn(suite, make_episode, jobs, template):
    source = PolicySource(OraclePolicy(suite, template=template), make_episode, template)
    weigh = (Call("weigh_patient", patient_id="P1"),)
    submit = (Call("submit_dose", dose_mg=0.0),)
    made = source.scripted([(jobs[0].task_id, (weigh, submit)), (jobs[1].task_id, (submit,)), (jobs[2].task_id, ())])
    assert [t.tool_calls for t in made] == [("weigh_patient", "submit_dose"), ("submit_dose",), ()]
    assert [t.stop_reason for t in made] == ["submitted", "submitted", "parse_failure"]


def test_a_source_samples_row_by_row_with_hints(suite, make_episode, jobs, template):
    source = PolicySource(OraclePolicy(suite, template=template), make_episode, template)
    made = source.sample(jobs[:2], seed=3, hints=[None, "Weigh first."])
    assert [t.extra for t in made] == [{}, {"hinted": True}]
    assert [(t.task_id, t.group) for t in made] == [(job.task_id, job.group) for job in jobs[:2]]
