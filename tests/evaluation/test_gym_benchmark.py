"""Frozen tasks as a benchmark: one row an episode, and what kept an episode from an answer counted apart."""

import pytest
from asked import Adder

from healthgym.authoring.scaffold import new_domain
from healthgym.envs.episode import Episode
from healthgym.errors import ConfigError, GraderError, NotRegistered
from healthgym.evaluation.benchmark import Settings, Source
from healthgym.evaluation.benchmarks import load_benchmark
from healthgym.evaluation.candidate import Candidate
from healthgym.evaluation.rescore_folder import rescore_folder
from healthgym.evaluation.rows import read_rows
from healthgym.evaluation.runner import evaluate
from healthgym.rollout import TurnResult, read_records
from healthgym.validation.replay import as_message


class Oracle(Adder):
    """Replays the solution of every task; a task's id may be mapped to other turns, or to None for a lost server."""

    def __init__(self, suite, others=None):
        super().__init__()
        self.suite, self.others = suite, others or {}

    def poll(self):
        request = self.waiting.pop(0)
        turn = sum(message["role"] == "assistant" for message in request.messages)
        plan = self.others.get(request.task_id, self.suite.task(request.task_id).turns_of_solution())
        if plan is None:
            return [TurnResult(request.key, "", error="server gone")]
        return [TurnResult(request.key, as_message(plan[min(turn, len(plan) - 1)]))]


def candidate(policy):
    return Candidate(name="oracle", engine="scripted 1", policy=policy, hashes={"weights": "none"})


@pytest.fixture(scope="module")
def fever(tmp_path_factory):
    folder = tmp_path_factory.mktemp("domains") / "fever"
    new_domain(folder)
    return folder


@pytest.fixture
def gym(fever):
    return load_benchmark("gym", Source(options={"domains": str(fever)}))


def test_each_episode_is_one_row_with_strata_scores_and_counts(gym, tmp_path):
    found = evaluate(gym, candidate(Oracle(gym.suite)), Settings(mode="agentic"), tmp_path / "out")
    assert (found.record["n"], found.record["score"]) == (12, 1.0)
    row = found.rows[0]
    assert row.strata["domain"] == "fever" and row.strata["split"] == "test" and row.cluster == row.id
    assert row.scores["accuracy"] == row.scores["reward"] == 1.0
    assert row.turns == row.tool_calls > 0 and row.hazards == 0
    assert row.detail["stop_reason"] == "submitted"


def test_what_kept_an_episode_from_an_answer_is_counted_apart_and_never_as_wrong(gym, tmp_path):
    ids = gym.suite.ids(split="test")
    babble = "give fluids and look again " * 30
    no = "I'm sorry, but I can't help with that."
    policy = Oracle(gym.suite, {ids[0]: None, ids[1]: [babble], ids[2]: ["Let me think about it."], ids[3]: [no]})
    found = evaluate(gym, candidate(policy), Settings(mode="agentic"), tmp_path / "out")
    by_id = {row.id: row for row in found.rows}
    assert by_id[ids[0]].status == "infra_error" and by_id[ids[0]].error == "server gone"
    assert by_id[ids[1]].status == "degenerate" and by_id[ids[1]].score is None
    assert by_id[ids[2]].status == "answered" and by_id[ids[2]].score == 0.0  # three idle turns end an episode
    assert by_id[ids[3]].status == "refused" and by_id[ids[3]].score is None
    assert found.record["n"] == 9 and found.record["score"] == pytest.approx(8 / 9)
    assert found.record["n_all"] == 11 and found.record["score_all"] == pytest.approx(8 / 11)


def test_an_episode_cut_short_is_truncated(gym, tmp_path):
    settings = Settings(mode="agentic", max_turns=1)
    found = evaluate(gym, candidate(Oracle(gym.suite)), settings, tmp_path / "out", limit=3)
    assert found.record["counts"]["truncated"] == 3 and found.record["n"] == 0


def test_every_trace_names_its_row(gym, tmp_path):
    evaluate(gym, candidate(Oracle(gym.suite)), Settings(mode="agentic"), tmp_path / "out", limit=2, attempts=2)
    named = [(one["extra"]["item"], one["extra"]["attempt"]) for one in read_records(tmp_path / "out" / "traces.jsonl")]
    assert len(set(named)) == len(named) == 4


def test_unknown_options_splits_families_and_empty_choices_are_refused(fever):
    with pytest.raises(ConfigError, match=r"gym has no option 'domain'.*Did you mean 'domains'"):
        load_benchmark("gym", Source(options={"domain": "x"}))
    with pytest.raises(ConfigError, match="gym has the splits test, train, val, test_ood, got 'tset'"):
        load_benchmark("gym", Source(split="tset"))
    with pytest.raises(NotRegistered, match="No family 'fevr'"):
        load_benchmark("gym", Source(options={"domains": str(fever), "families": "fevr"}))
    with pytest.raises(ConfigError, match="no tasks"):
        load_benchmark("gym", Source(options={"domains": str(fever), "difficulty": "hard"})).items()


def test_episodes_are_graded_again_from_their_traces(gym, tmp_path):
    ids = gym.suite.ids(split="test")
    policy = Oracle(gym.suite, {ids[0]: None, ids[2]: ["Let me think about it."]})
    first = evaluate(gym, candidate(policy), Settings(mode="agentic"), tmp_path / "out")
    again = rescore_folder(tmp_path / "out", gym)
    assert again.changes.n == 12 and list(again.changes.rows) == []
    assert again.record["score"] == first.record["score"]
    assert read_rows(again.rows) == read_rows(tmp_path / "out" / "rows.jsonl")


def test_a_grader_that_was_mended_gives_the_lost_episodes_their_score(gym, tmp_path, monkeypatch):
    def broken(episode):
        raise GraderError("broken")

    with monkeypatch.context() as patch:
        patch.setattr(Episode, "grade", broken)
        found = evaluate(gym, candidate(Oracle(gym.suite)), Settings(mode="agentic"), tmp_path / "out", limit=2)
    assert found.record["counts"]["grader_error"] == 2 and found.is_partial
    # Nothing was graded, so nothing was traced: such rows are played again, which resuming does.
    assert evaluate(
        gym, candidate(Oracle(gym.suite)), Settings(mode="agentic"), tmp_path / "out", limit=2
    ).record["score"] == 1.0  # fmt: skip
