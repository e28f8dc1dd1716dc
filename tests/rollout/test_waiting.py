"""Engines and patients outside the process: turns come when they come, and nobody waits for another's patient."""

import queue
import threading

import pytest

from healthgym.errors import ConfigError, ServiceError
from healthgym.rollout import OraclePolicy, ScriptedPolicy, collect, episode_maker
from healthgym.tasks import Call
from healthgym.world import Answer, Exchange, Services, SimulatedPatient


class ServerPolicy:
    """Answers from threads of its own, as a client of a generation server does; poll may come back empty."""

    name = "server"

    def __init__(self, script):
        self.script, self.ready, self.polls_without_turn = script, queue.Queue(), 0

    def submit(self, request):
        def generate():
            inner = ScriptedPolicy(self.script)
            inner.submit(request)
            self.ready.put(*inner.poll())

        threading.Thread(target=generate).start()

    def poll(self):
        try:
            return [self.ready.get(timeout=0.05)]
        except queue.Empty:
            self.polls_without_turn += 1
            return []

    def cancel(self, key):
        pass


class RemotePatient(SimulatedPatient):
    """Answers two questions at a time or not at all."""

    def __init__(self):
        self.both = threading.Barrier(2, timeout=30)

    def answer(self, chart, question, **context):
        self.both.wait()
        return super().answer(chart, question, **context)


class Unreachable(SimulatedPatient):
    def answer(self, chart, question, **context):
        raise ServiceError("the patient's model did not answer within 30 s")


@pytest.mark.parametrize("workers", [0, 3])
def test_a_server_answers_in_its_own_time(suite, make_episode, jobs, workers):
    made = collect(jobs, ServerPolicy(OraclePolicy(suite).script), make_episode, in_flight=3, workers=workers)
    assert [t.task_id for t in made] == [job.task_id for job in jobs]
    assert all(t.reward == 1.0 for t in made)


def test_patients_of_two_episodes_may_think_at_once(suite, jobs):
    make = episode_maker(suite, profile="bare", services=Services(patient=RemotePatient()))
    made = collect(jobs, OraclePolicy(suite), make, in_flight=2, workers=2)  # with fewer, the barrier would break
    assert all(t.reward == 1.0 for t in made)


def test_threads_change_nothing_but_the_time(suite, make_episode, jobs):
    plain, threaded = (collect(jobs, OraclePolicy(suite), make_episode, workers=workers) for workers in (0, 4))
    assert [t.messages for t in plain] == [t.messages for t in threaded]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_patient_who_cannot_be_reached_leaves_the_episode_unscored(suite, jobs, workers):
    make = episode_maker(suite, profile="bare", services=Services(patient=Unreachable()))
    assert collect(jobs, OraclePolicy(suite), make, workers=workers) == [None] * len(jobs)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_bug_in_a_tool_stops_the_run(suite, jobs, workers):
    class Broken(SimulatedPatient):
        def answer(self, chart, question, **context):
            raise KeyError("our bug")

    make = episode_maker(suite, profile="bare", services=Services(patient=Broken()))
    with pytest.raises(KeyError, match="our bug"):
        collect(jobs, OraclePolicy(suite), make, workers=workers)


def test_a_patient_is_told_what_was_said_before(suite, jobs):
    heard = []

    class Listening(SimulatedPatient):
        def answer(self, chart, question, *, history=(), **context):
            heard.append(tuple(history))
            return Answer(f"answer {len(history)}")

    calls = [Call("ask_patient", patient_id="P1", question=word) for word in ("one", "two")]
    turns = iter(calls)
    policy = ScriptedPolicy(lambda request: [next(turns, Call("submit_dose", dose_mg=0))])
    collect(jobs[:1], policy, episode_maker(suite, profile="bare", services=Services(patient=Listening())))
    assert heard == [(), (Exchange("P1", "one", "answer 0"),)]


def test_a_negative_number_of_threads_is_refused(suite, make_episode, jobs):
    with pytest.raises(ConfigError, match="workers"):
        collect(jobs, OraclePolicy(suite), make_episode, workers=-1)
