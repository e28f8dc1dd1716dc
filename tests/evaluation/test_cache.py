"""The response cache gives back what was said, to whoever asks the same of the same candidate, and nothing else."""

import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from healthgym.errors import ConfigError
from healthgym.evaluation.cache import CachedPolicy, with_cache
from healthgym.evaluation.candidate import Candidate
from healthgym.rollout.policy import TurnRequest, TurnResult


class Counting:
    """Answers each prompt with its own text, and counts what it was asked."""

    name = "counting"

    def __init__(self, **answer):
        self.asked, self.waiting, self.cancelled, self.answer = 0, [], [], answer

    def submit(self, request):
        self.asked += 1
        self.waiting.append(request)

    def poll(self):
        done, self.waiting = self.waiting, []
        return [TurnResult(one.key, **{"message": f"to {one.messages}", **self.answer}) for one in done]

    def cancel(self, key):
        self.cancelled.append(key)

    def counters(self):
        return {"asked": float(self.asked)}


IDENTITY = {"hashes": {"weights": "a"}, "temperature": 0.0}


def request(key=0, text="x", **changes):
    return TurnRequest(key, "t", [{"role": "user", "content": text}], (), **{"max_tokens": 8, **changes})


def answer(policy, one):
    policy.submit(one)
    (result,) = policy.poll()
    policy.cancel(one.key)
    return result


def test_the_same_request_is_asked_once_and_answered_alike_under_another_key(tmp_path):
    inner = Counting(
        message={"content": "ü \ud800", "tool_calls": [{"id": "c"}]},
        token_ids=(1, 2),
        logprobs=(-0.5, -0.25),
        clipped=True,
        num_tokens=2,
    )
    first = answer(CachedPolicy(inner, tmp_path / "c.sqlite", IDENTITY), request(3))
    policy = CachedPolicy(inner, tmp_path / "c.sqlite", dict(reversed(IDENTITY.items())))
    again = answer(policy, request(9))
    assert (inner.asked, policy.hits, policy.misses) == (1, 1, 0)
    assert (again.key, again.message, again.clipped, again.num_tokens) == (9, first.message, True, 2)
    assert (list(again.token_ids), list(again.logprobs)) == ([1, 2], [-0.5, -0.25])
    assert inner.cancelled == [3]  # the other policy never heard of episode 9
    assert policy.counters() == {"asked": 1.0, "cache/hits": 1.0, "cache/misses": 0.0}


@pytest.mark.parametrize(
    ("other", "identity"),
    [
        (request(text="y"), IDENTITY),
        (request(seed=1), IDENTITY),
        (request(max_tokens=9), IDENTITY),
        (request(prompt_ids=[1, 2]), IDENTITY),
        (request(), {**IDENTITY, "temperature": 0.5}),
        (request(), {**IDENTITY, "hashes": {"weights": "b"}}),
        (TurnRequest(0, "t", [{"role": "user", "content": "x"}], [{"type": "function"}], max_tokens=8), IDENTITY),
    ],
)
def test_whatever_answers_depend_on_tells_requests_apart(tmp_path, other, identity):
    inner = Counting()
    answer(CachedPolicy(inner, tmp_path / "c", IDENTITY), request())
    answer(CachedPolicy(inner, tmp_path / "c", identity), other)
    assert inner.asked == 2


def test_where_there_are_tokens_they_alone_say_what_was_asked(tmp_path):
    policy = CachedPolicy(Counting(), tmp_path / "c", IDENTITY)
    answer(policy, request(prompt_ids=[1, 2]))
    answer(policy, request(text="y", prompt_ids=(1, 2)))
    assert policy.hits == 1


@pytest.mark.parametrize("lost", [{"message": "", "error": "server gone"}, {"message": "", "clipped": True}])
def test_failures_of_the_infrastructure_are_asked_again(tmp_path, lost):
    inner = Counting(**lost)
    policy = CachedPolicy(inner, tmp_path / "c", IDENTITY)
    answer(policy, request())
    answer(policy, request())
    assert inner.asked == 2


def test_a_candidate_with_a_cache_is_asked_once_and_closed_with_its_file(tmp_path):
    inner, closed = Counting(), []
    plain = Candidate(name="c", engine="e 1", policy=inner, hashes={"weights": "a"}, close=lambda: closed.append(1))
    for _ in range(2):
        candidate = with_cache(plain, tmp_path)
        answer(candidate.policy, request())
        candidate.close()
    answer(with_cache(replace(plain, engine="e 2"), tmp_path).policy, request())
    assert inner.asked == 2 and closed == [1, 1] and (tmp_path / "responses.sqlite").is_file()


def test_hits_come_back_while_others_are_still_asked(tmp_path):
    inner = Counting()
    policy = CachedPolicy(inner, tmp_path / "c", IDENTITY)
    answer(policy, request(0, "known"))
    policy.submit(request(1, "new"))
    policy.submit(request(2, "known"))
    policy.submit(request(3, "known"))
    policy.cancel(3)
    assert [result.key for result in policy.poll()] == [2]
    assert [result.key for result in policy.poll()] == [1]
    assert policy.poll() == []


@pytest.mark.parametrize("damage", [b"no database at all" * 100, None])
def test_a_damaged_file_is_set_aside_and_begun_anew(tmp_path, caplog, damage):
    file, inner = tmp_path / "c", Counting()
    before = CachedPolicy(inner, file, IDENTITY)
    for number in range(50):
        answer(before, request(text=f"{number}" * 200))
    before.close()
    data = file.read_bytes()
    file.write_bytes(damage or data[:4096] + b"\xff" * (len(data) - 4096))
    policy = CachedPolicy(inner, file, IDENTITY)
    answer(policy, request(text="0" * 200))
    answer(policy, request(text="0" * 200))
    assert (policy.hits, policy.misses) == (1, 1)
    assert len(list(tmp_path.glob("c.damaged-*"))) == 1 and "is damaged" in caplog.text


def test_an_answer_whose_bytes_changed_is_asked_again(tmp_path):
    inner, file = Counting(), tmp_path / "c"
    answer(CachedPolicy(inner, file, IDENTITY), request())
    with sqlite3.connect(file) as other:
        other.execute("UPDATE responses SET answer = replace(answer, 'to', 'no')")
    policy = CachedPolicy(inner, file, IDENTITY)
    assert str(answer(policy, request()).message).startswith("to") and policy.misses == 1
    answer(policy, request())
    assert policy.hits == 1


def test_another_programs_database_is_set_aside(tmp_path):
    with sqlite3.connect(tmp_path / "c") as other:
        other.execute("CREATE TABLE responses (id INTEGER)")
    policy = CachedPolicy(Counting(), tmp_path / "c", IDENTITY)
    answer(policy, request())
    answer(policy, request())
    assert policy.hits == 1 and len(list(tmp_path.glob("c.damaged-*"))) == 1


WRITER = """
import sys
from healthgym.evaluation.cache import ResponseFile
from pathlib import Path
store = ResponseFile(Path(sys.argv[1]))
for number in range(40):
    store.put(f"{sys.argv[2]}-{number}".encode(), {"n": number})
"""


def test_several_processes_share_a_file_and_lose_nothing(tmp_path):
    file = tmp_path / "new" / "c"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(file), str(at)]) for at in range(3)]
    assert [one.wait() for one in writers] == [0, 0, 0]
    with sqlite3.connect(file) as found:
        assert found.execute("SELECT count(*) FROM responses").fetchone() == (120,)
        assert found.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match="cannot be used"):
        CachedPolicy(Counting(), tmp_path, IDENTITY)
