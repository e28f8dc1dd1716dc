"""A policy is measured on tasks: rates with n and interval, and what went wrong counted apart."""

import json

import pytest

from healthgym.authoring.scaffold import new_domain
from healthgym.envs.episode import Episode
from healthgym.errors import ConfigError, GraderError, NotRegistered
from healthgym.evaluation import gym_suite
from healthgym.evaluation.gym_suite import evaluate_policy
from healthgym.evaluation.statistics import compare_paired, wilson_interval
from healthgym.registry import load_domain
from healthgym.rollout import TurnResult
from healthgym.tasks import Suite
from healthgym.validation.replay import as_message


class Oracle:
    """Replays solutions for the tasks it knows, says nothing in others, and breaks on those it is told to."""

    name = "oracle"

    def __init__(self, suite, solves, breaks=()):
        self.suite, self.solves, self.breaks, self.waiting = suite, set(solves), set(breaks), []

    def submit(self, request):
        self.waiting.append(request)

    def poll(self):
        done, self.waiting = [self._answer(request) for request in self.waiting], []
        return done

    def cancel(self, key):
        self.waiting = [request for request in self.waiting if request.key != key]

    def _answer(self, request):
        if request.task_id in self.breaks:
            return TurnResult(request.key, "", error="server gone")
        turn = sum(message["role"] == "assistant" for message in request.messages)
        turns = self.suite.task(request.task_id).turns_of_solution()
        return TurnResult(request.key, as_message(turns[turn]) if request.task_id in self.solves else "")


@pytest.fixture
def suite(tmp_path):
    new_domain(tmp_path / "fever")
    return Suite([load_domain(tmp_path / "fever")])


@pytest.fixture
def ids(suite):
    return suite.ids(split="test")


def test_success_comes_with_n_interval_scores_and_counts(suite, ids):
    found = evaluate_policy(Oracle(suite, ids[:9]), suite, ids)
    assert (found.n, found.tasks, found.success) == (12, 12, 0.75)
    assert found.ci == wilson_interval(9, 12)
    assert found.counts == {"degenerate": 0, "truncated": 0, "grader_error": 0, "infra_error": 0}
    assert found.scores["accuracy"] == 0.75
    assert found.by_difficulty == {"easy": {"n": 12, "success": 0.75, "ci": list(found.ci)}}
    assert found.mean_tokens is None and found.mean_turns > 1
    assert len(found.hashes["tasks"]) == 64
    assert json.loads(json.dumps(found.to_dict()))["success"] == 0.75
    assert "rows" not in found.to_dict() and len(found.to_dict(rows=True)["rows"]) == 12


def test_an_infrastructure_failure_is_counted_and_never_scored(suite, ids):
    found = evaluate_policy(Oracle(suite, ids, breaks=ids[:3]), suite, ids)
    assert (found.n, found.success) == (9, 1.0)
    assert found.counts["infra_error"] == 3


def test_a_grader_error_is_counted_and_the_others_go_on(suite, ids, monkeypatch):
    true_grade = Episode.grade

    def grade(episode):
        if episode.task.id in ids[:2]:
            raise GraderError("broken")
        return true_grade(episode)

    monkeypatch.setattr(Episode, "grade", grade)
    seen = []
    found = evaluate_policy(Oracle(suite, ids), suite, ids, in_flight=4, on_trajectory=seen.append)
    assert (found.n, found.success) == (10, 1.0)
    assert found.counts["grader_error"] == 2 and found.counts["infra_error"] == 0
    assert len({trajectory.group for trajectory in seen}) == len(seen) == 10


def test_an_episode_cut_short_has_not_succeeded_and_is_counted(suite, ids):
    found = evaluate_policy(Oracle(suite, ids), suite, ids, max_turns=2)
    assert (found.n, found.success, found.counts["truncated"]) == (12, 0.0, 12)


def test_several_attempts_at_a_task_widen_the_interval_and_give_pass_hat(suite, ids):
    found = evaluate_policy(Oracle(suite, ids[:9]), suite, ids, seeds=(0, 1, 2, 3))
    assert (found.n, found.tasks) == (48, 12)
    low, high = wilson_interval(36, 48)
    assert found.ci[1] - found.ci[0] > high - low  # 12 tasks, not 48 independent rows
    assert found.pass_hat == {1: 0.75, 2: 0.75, 3: 0.75, 4: 0.75}  # each task always or never


def test_attempts_that_all_fail_are_as_sure_as_their_tasks(suite, ids):
    found = evaluate_policy(Oracle(suite, ()), suite, ids, seeds=(0, 1, 2, 3))
    assert (found.n, found.success) == (48, 0.0)
    assert found.ci == wilson_interval(0, 12)  # twelve tasks, not 48 rows


def test_two_results_on_the_same_rows_can_be_compared(suite, ids):
    weak, strong = (evaluate_policy(Oracle(suite, ids[:k]), suite, ids) for k in (3, 9))
    found = compare_paired([r["success"] for r in weak.rows], [r["success"] for r in strong.rows])
    assert (found.gained, found.lost, found.difference) == (6, 0, 0.5)


def test_the_digest_tells_tasks_apart(suite, ids):
    assert gym_suite.task_digest(suite, ids[:2]) != gym_suite.task_digest(suite, ids[1:3])


def test_nothing_to_evaluate_and_unknown_tasks_are_refused(suite, ids):
    with pytest.raises(ConfigError, match="needs tasks and seeds"):
        evaluate_policy(Oracle(suite, ids), suite, [])
    with pytest.raises(NotRegistered, match="No task"):
        evaluate_policy(Oracle(suite, ids), suite, ["fever/nothing/test/0000"])
