"""Traces survive kills, keep groups whole, and refuse other versions."""

import dataclasses
import json

import pytest

from healthgym.errors import HealthgymError
from healthgym.rollout import Job, OraclePolicy, TraceWriter, collect, read_records, read_traces


@pytest.fixture
def made(suite, make_episode, jobs, template):
    return collect(jobs[:4], OraclePolicy(suite, template=template), make_episode, template=template)


def test_a_trajectory_reads_back_as_it_was(made, tmp_path):
    with TraceWriter(tmp_path / "deep" / "t.jsonl", tokens=True) as writer:
        for trajectory in made:
            writer(trajectory)
    for one, other in zip(made, read_traces(tmp_path / "deep" / "t.jsonl"), strict=True):
        assert json.dumps(other.to_record(tokens=True)) == json.dumps(one.to_record(tokens=True))
        assert other.grade == one.grade and other.turns == one.turns


def test_tokens_stay_out_unless_asked_for(made, tmp_path):
    with TraceWriter(tmp_path / "t.jsonl") as writer:
        writer(made[0])
    (record,) = read_records(tmp_path / "t.jsonl")
    assert "completion_ids" not in record and record["task_id"] == made[0].task_id
    assert read_traces(tmp_path / "t.jsonl")[0].turns == ()


def test_a_line_that_a_kill_cut_short_is_skipped_and_told(made, tmp_path, caplog):
    path = tmp_path / "t.jsonl"
    with TraceWriter(path) as writer:
        writer(made[0])
        writer(made[1])
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    assert [t.task_id for t in read_traces(path)] == [made[0].task_id]
    assert "1 broken line" in caplog.text
    with TraceWriter(path) as writer:  # continues on a fresh line
        writer(made[2])
    assert [t.task_id for t in read_traces(path)] == [made[0].task_id, made[2].task_id]


def test_another_version_is_refused(made, tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(made[0].to_record() | {"trace_version": 99}) + "\n", encoding="utf-8")
    with pytest.raises(HealthgymError, match="version 99"):
        read_traces(path)
    with pytest.raises(HealthgymError, match="No trace file"):
        read_traces(tmp_path / "absent.jsonl")


def test_every_nth_group_is_kept_whole(suite, make_episode, jobs, tmp_path):
    attempts = [Job(jobs[group].task_id, group) for group in range(5) for _ in range(3)]
    with TraceWriter(tmp_path / "t.jsonl", every=2) as writer:
        collect(attempts, OraclePolicy(suite), make_episode, on_trajectory=writer)
    assert sorted(t.group for t in read_traces(tmp_path / "t.jsonl")) == [0, 0, 0, 2, 2, 2, 4, 4, 4]


def test_text_of_any_script_is_kept(made, tmp_path):
    odd = dataclasses.replace(made[0], messages=[{"role": "user", "content": "é 体温 \u2028 \U0001f912 \ud800"}])
    with TraceWriter(tmp_path / "t.jsonl") as writer:
        writer(odd)
    assert read_traces(tmp_path / "t.jsonl")[0].messages == odd.messages
