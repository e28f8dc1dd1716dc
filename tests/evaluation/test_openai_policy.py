"""A policy behind an endpoint: answers pass, failures are retried and never become answers, a dead endpoint ends the run."""

import logging
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate

import pytest
from endpoint_case import QUICK, Server, finish, hangs_up, is_cut_off, is_slow, request, says, waits_for

from healthgym.errors import ConfigError, HealthgymError
from healthgym.rollout.endpoint import Endpoint, EndpointDown, Patience, checked_url, retry_after_s
from healthgym.rollout.openai_messages import Dialect
from healthgym.rollout.openai_policy import OpenAIPolicy

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
HTML = b"<html><body>502 Bad Gateway</body></html>"


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.stop()


def on(server: Server, patience: Patience = QUICK, **options) -> OpenAIPolicy:
    return OpenAIPolicy(Endpoint(f"{server.url}/v1", patience=patience), "m", **options)


def test_a_turn_goes_out_as_asked_and_comes_back_with_its_count(server: Server):
    policy = on(server, temperature=0.5, top_p=0.9, dialect=Dialect(extra={"top_k": 0}))
    result = finish(policy, request(3, "How?", seed=(1 << 40) + 5))[3]
    assert (result.message, result.num_tokens, result.clipped, result.error) == ("yes", 3, False, None)
    (body,) = server.posts
    assert body == {
        "model": "m", "messages": [{"role": "user", "content": "How?"}], "temperature": 0.5, "top_p": 0.9, "top_k": 0,
        "max_tokens": 8, "seed": 5,
    }  # fmt: skip
    assert policy.counters()["endpoint/completion_tokens"] == 3 and policy.fingerprints == {"fp1": 1}


@pytest.mark.parametrize(
    "misdeed",
    [
        says(429, {"error": "slow down"}),
        says(500, HTML),
        says(503, b""),
        says(200, HTML),
        says(200, b'{"choices": [{"message"'),
        says(200, b"\xff\xfe\x00"),
        says(200, b"[" * 100_000),
        says(200, {"choices": []}),
        says(200, {"choices": [{"message": None}]}),
        says(200, {"error": {"message": "overloaded"}}),
        says(200, [1]),
        is_cut_off,
        hangs_up,
    ],
)
def test_what_may_pass_is_asked_again(server: Server, misdeed):
    server.script = [misdeed]
    policy = on(server)
    assert finish(policy, request())[0].message == "yes"
    assert len(server.posts) == 2 and policy.counters()["endpoint/retries"] == 1


def test_a_server_that_never_answers_well_gives_an_error_and_no_answer(server: Server):
    server.script = [says(200, HTML)] * 3
    result = finish(on(server), request())[0]
    assert "no JSON: <html>" in result.error and "asked 3 times" in result.error and result.message == ""


def test_a_slow_attempt_ends_after_its_time_and_is_made_again(server: Server):
    server.script = [is_slow(5.0)]
    policy = on(server, Patience(timeout_s=0.3, first_wait_s=0.01))
    assert finish(policy, request())[0].message == "yes" and policy.endpoint.retried == 1


def test_all_attempts_together_end_after_their_time(server: Server):
    server.script = [says(429, {}, Retry_After="3600")]
    result = finish(on(server), request())[0]
    assert "answered 429" in result.error and "asked once" in result.error


def test_the_wait_is_the_servers_wish(server: Server):
    server.script = [says(429, {}, Retry_After="1")]
    started = time.monotonic()
    finish(on(server), request())
    assert time.monotonic() - started >= 1


def test_wishes_are_seconds_or_a_date():
    assert retry_after_s("7") == 7 and retry_after_s(None) is None and retry_after_s("soon") is None
    assert 50 < (retry_after_s(formatdate(time.time() + 60, usegmt=True)) or 0) <= 60
    assert retry_after_s(formatdate(0, usegmt=True)) == 0


def test_a_refused_request_fails_alone(server: Server):
    policy = on(server)
    finish(policy, request())
    server.script = [says(400, {"error": {"message": "bad image"}})]
    assert "refused with 400" in finish(policy, request())[0].error
    assert len(server.posts) == 2
    assert finish(policy, request())[0].message == "yes"


def test_a_conversation_that_outgrew_the_context_is_a_clipped_turn_and_a_first_prompt_too_long_an_error(server: Server):
    long = {"error": {"message": "This model's maximum context length is 64 tokens."}}
    policy = on(server)
    finish(policy, request())
    server.script = [says(400, long)] * 2
    begun = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    made = finish(policy, request(1, messages=begun))[1]
    assert (made.message, made.clipped, made.error, policy.outgrown) == ("", True, None, 1)
    assert "maximum context length" in finish(policy, request(2))[2].error


def test_the_limit_of_tokens_shows(server: Server):
    server.finish_reason = "length"
    assert finish(on(server), request())[0].clipped


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": None}, ""),
        ({"content": None, "refusal": "I cannot."}, "I cannot."),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"content": "c", "tool_calls": []}, "c"),
        ({}, ""),
    ],
)
def test_content_comes_in_many_shapes(server: Server, message, text):
    server.message = message
    assert finish(on(server), request())[0].message == text


def test_a_dead_endpoint_ends_the_run_and_not_row_after_row(server: Server):
    policy = on(server)
    server.stop()
    asked = 0
    with pytest.raises(EndpointDown, match="the same command goes on from there"):
        for key in range(50):
            policy.submit(request(key))
            asked += 1
        while True:
            assert all(result.error is None for result in policy.poll()) or policy.endpoint.down is None
    assert asked == 50


def test_failures_in_a_row_end_the_run_and_an_answer_between_them_begins_the_count_anew(server: Server):
    policy = on(server, Patience(timeout_s=2, total_s=2, retries=0, give_up_after=3))
    server.script = [says(500, b"a"), says(500, b"b"), says(200, {"choices": [{"message": {"content": "fine"}}]})]
    server.script += [says(500, b"c")] * 3
    errors = [finish(policy, request(key))[key].error for key in range(5)]
    assert [error is None for error in errors] == [False, False, True, False, False]
    with pytest.raises(EndpointDown, match="3 requests in a row"):
        finish(policy, request(5))
    with pytest.raises(EndpointDown):
        finish(policy, request(6))


def test_a_wrong_key_ends_the_run_at_once_and_is_never_repeated(server: Server, monkeypatch, caplog):
    monkeypatch.setenv("SOME_KEY", "sk-secret")
    server.script = [says(401, {"error": "Incorrect API key provided: sk-secret"})]
    caplog.set_level(logging.DEBUG)
    policy = OpenAIPolicy(Endpoint(f"{server.url}/v1", api_key_env="SOME_KEY", patience=QUICK), "m")
    with pytest.raises(EndpointDown, match=r"401.*\*\*\*") as found:
        finish(policy, request())
    assert server.headers[0]["Authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in str(found.value) and "sk-secret" not in caplog.text


def test_a_request_that_is_always_refused_ends_the_run(server: Server):
    server.script = [says(400, {"error": "unknown field"})] * 3
    policy = on(server)
    for key in range(2):
        assert finish(policy, request(key))[key].error
    with pytest.raises(EndpointDown, match="first 3 requests were all refused"):
        finish(policy, request(2))


def test_another_model_in_the_middle_of_a_run_is_found_out(server: Server, caplog):
    policy = on(server)
    finish(policy, request())
    server.reply = {"model": "m-1", "system_fingerprint": "fp2"}
    finish(policy, request())
    assert "fingerprint changed to fp2" in caplog.text and set(policy.fingerprints) == {"fp1", "fp2"}
    server.reply = {"model": "m-2"}
    with pytest.raises(HealthgymError, match="'m-1' and now answers as 'm-2'"):
        finish(policy, request())


def test_many_turns_are_on_their_way_at_once_and_a_cancelled_one_never_comes_back(server: Server):
    policy = on(server)
    together = threading.Barrier(20)  # no reply before all twenty requests are there
    server.script = [waits_for(together)] * 20
    for key in range(20):
        policy.submit(request(key))
    while len(server.posts) < 20:
        time.sleep(0.01)
    policy.cancel(7)
    made: list[int] = []
    while len(made) < 19:
        made += [result.key for result in policy.poll()]
    assert sorted(made) == [key for key in range(20) if key != 7]
    policy.submit(request(7, "again"))
    assert [result.key for result in policy.poll()] == [7]
    assert policy.poll() == []


def test_a_poll_with_nothing_ready_returns_after_a_moment(server: Server):
    policy = on(server)
    server.script = [is_slow(1.2)]
    policy.submit(request())
    assert policy.poll() == []
    while not policy.poll():
        pass


@pytest.mark.parametrize("mode", ["native", "markup", "told"])
def test_tools_go_out_as_the_server_takes_them(server: Server, mode):
    finish(on(server, dialect=Dialect(tools=mode)), request(tools=[TOOL]))
    (body,) = server.posts
    assert body.get("tool_choice") == {"native": "auto", "markup": "none", "told": None}[mode]
    assert body.get("tools") == (None if mode == "told" else [TOOL])
    assert ("look" in str(body["messages"])) == (mode == "told")


def test_addresses_without_scheme_or_with_credentials_are_refused(monkeypatch):
    for url in ("localhost:8000", "ftp://x/v1", "", "http://", "http://x:99999/v1", "http://[::1/v1"):
        with pytest.raises(ConfigError, match="is no endpoint"):
            checked_url(url)
    for url in ("https://me:secret@x/v1", "https://x/v1?key=secret"):
        with pytest.raises(ConfigError, match="environment variable") as found:
            checked_url(url)
        assert "secret" not in str(found.value)
    monkeypatch.delenv("NO_KEY_HERE", raising=False)
    with pytest.raises(ConfigError, match="NO_KEY_HERE holds no API key"):
        Endpoint("http://x/v1", api_key_env="NO_KEY_HERE")
