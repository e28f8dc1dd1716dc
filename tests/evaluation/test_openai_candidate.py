"""A model behind an endpoint is looked at before the first row and after the last, and asked in the server's own way."""

from collections.abc import Iterator
from typing import Any

import pytest
from endpoint_case import QUICK, Server, finish, hangs_up, request, says

from healthgym.authoring.scaffold import new_domain
from healthgym.errors import ConfigError, HealthgymError
from healthgym.evaluation.asking import Ask, ask_all
from healthgym.evaluation.cache import with_cache
from healthgym.evaluation.candidate import Options, OptionScores
from healthgym.evaluation.endpoint_model import api_root
from healthgym.evaluation.endpoint_scoring import EndpointScores, scoring_form
from healthgym.evaluation.openai_candidate import open_endpoint
from healthgym.registry import load_domain
from healthgym.rollout import Job, collect, episode_maker
from healthgym.rollout.endpoint import Endpoint, EndpointDown, EndpointFailed
from healthgym.tasks import Suite
from healthgym.validation.replay import as_message


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.stop()


def opened(server: Server, **options: Any) -> Any:
    return open_endpoint(server.url, patience=QUICK, **options)


def test_the_only_model_there_is_taken_and_what_is_served_is_recorded(server: Server):
    candidate = opened(server)
    assert (candidate.name, candidate.engine, candidate.max_context) == ("m", "openai someone", 64)
    assert candidate.hashes == {"endpoint": f"{server.url}/v1", "model": "m", "answering": "m-1"}
    assert candidate.template is None and candidate.loglikelihoods is None
    (reply,) = ask_all(candidate, [Ask(0, [{"role": "user", "content": "?"}])], max_tokens=4)
    assert (reply.text, reply.tokens, reply.error) == ("yes", 3, None)
    assert candidate.verify() == {"system_fingerprints": "fp1", "version": ""}
    candidate.close()
    candidate.close()


@pytest.mark.parametrize(
    ("models", "wanted", "message"),
    [
        ([{"id": "m"}, {"id": "n"}], None, "serves 2 models; name one. Known: m, n."),
        ([{"id": "medical-7b"}], "medical-8b", "does not serve 'medical-8b'. Did you mean 'medical-7b'?"),
        ([], None, "serves 0 models"),
        ({"id": "m"}, "m", "no list of models"),
    ],
)
def test_another_model_than_the_one_wanted_is_refused(server: Server, models, wanted, message):
    server.models = {"data": models}
    with pytest.raises(ConfigError, match=message.replace("?", r"\?")):
        opened(server, model=wanted)
    assert server.posts == []  # before any row


def test_a_server_without_a_list_needs_the_models_name(server: Server, caplog):
    server.models = None
    with pytest.raises(ConfigError, match="does not tell which models"):
        opened(server)
    assert opened(server, model="m").name == "m" and "lists no models" in caplog.text
    server.models = {"data": []}
    assert opened(server, model="m").name == "m"


def test_the_address_may_name_the_model_and_leave_out_the_version(server: Server):
    server.models = {"data": [{"id": "m"}, {"id": "n"}]}
    assert open_endpoint(f"{server.url}/v1/#n", patience=QUICK).name == "n"
    assert open_endpoint("n", endpoint=server.url, patience=QUICK).name == "n"
    with pytest.raises(ConfigError, match="names the model 'n', but 'm'"):
        open_endpoint(f"{server.url}#n", model="m", patience=QUICK)
    assert api_root("http://h:1/v1/chat/completions") == api_root("http://h:1") == "http://h:1/v1"
    assert api_root("https://h/v1beta/openai/") == "https://h/v1beta/openai"


def test_nothing_there_is_told_before_the_first_row():
    with pytest.raises(EndpointFailed, match="cannot be reached"):
        open_endpoint("http://127.0.0.1:9", patience=QUICK)


def test_a_probe_that_fails_for_a_moment_is_made_again(server: Server):
    server.script = [hangs_up, says(503, b"")]
    assert opened(server).name == "m"


@pytest.mark.parametrize(
    ("refuses", "tools", "limit", "takes_seed"),
    [
        ({}, "native", "max_tokens", 1),
        ({"auto": (400, '"auto" tool choice requires a tool parser')}, "markup", "max_tokens", 1),
        ({"tools": (400, "tools are not supported")}, "plain", "max_tokens", 1),
        ({"max_tokens": (400, "use 'max_completion_tokens' instead")}, "native", "max_completion_tokens", 1),
        ({"seed": (422, "seed: extra inputs are not permitted")}, "native", "max_tokens", 0),
    ],
)
def test_what_a_server_refuses_is_asked_otherwise(server: Server, refuses, tools, limit, takes_seed):
    server.refuses = refuses
    candidate = opened(server, temperature=0.5)
    assert (candidate.sampling["tools"], candidate.sampling["takes_seed"]) == (tools, takes_seed)
    (reply,) = ask_all(candidate, [Ask(0, [{"role": "user", "content": "?"}])], max_tokens=4)
    assert reply.text == "yes" and server.posts[-1][limit] == 4


def test_tools_that_the_prompt_does_not_show_are_told_in_words(server: Server):
    # The server counts 7 tokens of prompt with and without a tool: its chat template leaves tools out.
    server.counts_tools = False
    assert opened(server).sampling["tools"] == "told"
    assert opened(server, tools="native").sampling["tools"] == "native"


def test_a_temperature_that_is_refused_is_no_ones_to_change(server: Server):
    server.refuses = {"temperature": (400, "temperature must be 1")}
    with pytest.raises(ConfigError, match=r"refuses the sampling that was asked for: .*temperature must be 1"):
        opened(server)


def test_vllm_is_kept_from_sampling_as_the_models_folder_says(server: Server):
    server.models = {"data": [{"id": "m", "owned_by": "vllm", "root": "/models/m"}]}
    candidate = opened(server, extra={"min_p": 0.1})
    assert server.posts[-1]["top_k"] == 0 and server.posts[-1]["repetition_penalty"] == 1.0
    assert candidate.sampling["min_p"] == 0.1 and candidate.hashes["root"] == "/models/m"


@pytest.mark.parametrize("change", [{"id": "m", "root": "/other"}, {"id": "m", "max_model_len": 128}, {"id": "other"}])
def test_another_model_after_the_last_row_is_found_out(server: Server, change):
    server.models = {"data": [{"id": "m", "root": "/models/m", "max_model_len": 64}]}
    candidate = opened(server)
    server.models = {"data": [{"root": "/models/m", "max_model_len": 64, **change}]}
    with pytest.raises(HealthgymError, match=r"when this run began|does not serve 'm'"):
        candidate.verify()


def logprob(token: int, place: int) -> float:
    return -token / 100 - place


def told(body: dict[str, Any]) -> dict[str, Any]:
    """As vLLM tells the log-probabilities of a prompt's tokens; even ones are the likeliest at their place."""
    ids = body["prompt"]
    entries = [{str(t): {"logprob": logprob(t, i), "rank": 1 + t % 2}} for i, t in enumerate(ids)]
    return {"choices": [{"prompt_logprobs": [None, *entries[1:]]}], "usage": {"prompt_tokens": len(ids)}}


def echoed(body: dict[str, Any]) -> dict[str, Any]:
    if "prompt_logprobs" in body:
        return {"choices": [{"text": ""}]}
    ids = body["prompt"]
    values = [logprob(t, i) for i, t in enumerate(ids)] + [-9.0]
    top = [{"a": value + t % 2} for value, t in zip(values, [*ids, 0], strict=True)]
    logprobs = {"token_logprobs": [None, *values[1:]], "top_logprobs": [None, *top[1:]]}
    return {"choices": [{"logprobs": logprobs}], "usage": {"prompt_tokens": len(ids)}}


@pytest.mark.parametrize(("completions", "form"), [(told, "prompt_logprobs"), (echoed, "echo")])
def test_options_are_scored_token_by_token(server: Server, completions, form):
    server.completions = completions
    endpoint = Endpoint(f"{server.url}/v1", patience=QUICK)
    assert scoring_form(endpoint, "m") == (form, "")
    done: list[OptionScores] = []
    EndpointScores(endpoint, "m", form)([Options(4, [7, 8], [[10, 12], [11]]), Options(5, [7], [[2]])], done.append)
    found = {one.key: one for one in done}
    # Places 2 and 3 after two tokens of prompt: -0.10 - 2 and -0.12 - 3; -0.11 - 2. Place 1 after one: -0.02 - 1.
    assert found[4].logprobs == pytest.approx((-5.22, -2.11)) and found[4].is_greedy == (True, False)
    assert found[5].logprobs == pytest.approx((-1.02,)) and found[5].is_greedy == (True,)


@pytest.mark.parametrize(
    ("completions", "reason"),
    [
        (None, "404"),
        (lambda body: {"choices": [{"text": "x"}]}, "no log-probabilities of the prompt's tokens"),
        (lambda body: {**told(body), "usage": {"prompt_tokens": 9}}, "adds tokens of its own"),
    ],
)
def test_a_server_that_cannot_score_says_why(server: Server, completions, reason):
    server.completions = completions
    form, why = scoring_form(Endpoint(f"{server.url}/v1", patience=QUICK), "m")
    assert form is None and reason in why
    with pytest.raises(ConfigError, match="takes no token ids"):
        opened(server, tokenizer="anything")


def test_a_question_that_cannot_be_scored_costs_no_other(server: Server):
    server.completions = lambda body: {} if 13 in body["prompt"] else told(body)
    scores = EndpointScores(Endpoint(f"{server.url}/v1", patience=QUICK), "m", "prompt_logprobs")
    done: list[OptionScores] = []
    requests = [Options(key, [7], [[8], [13 if key == 1 else 9]]) for key in range(4)]
    with pytest.raises(EndpointFailed, match="1 of 4 questions"):
        scores(requests, done.append)
    assert sorted(one.key for one in done) == [0, 2, 3]


def test_other_weights_after_the_last_row_are_found_out(server: Server):
    server.completions = told
    candidate = opened(server)
    assert candidate.verify()
    server.completions = lambda body: (
        told({**body, "prompt": body["prompt"]})
        | {
            "choices": [
                {"prompt_logprobs": [None, *({str(t): {"logprob": -5.0, "rank": 1}} for t in body["prompt"][1:])]}
            ]
        }
    )
    with pytest.raises(HealthgymError, match="computes with other weights"):
        candidate.verify()


@pytest.fixture
def suite(tmp_path: Any) -> Suite:
    new_domain(tmp_path / "fever")
    return Suite([load_domain(tmp_path / "fever")])


def scripted(server: Server, suite: Suite, task_id: str, *, breaks: str | None = None) -> None:
    """Have the server play a task's solution with structured calls; `breaks` replaces the first arguments."""
    messages = []
    for number, turn in enumerate(suite.task(task_id).turns_of_solution()):
        calls = []
        for at, call in enumerate(turn):
            message: Any = as_message([call])
            calls.append({**message["tool_calls"][0], "id": f"c{number}{at}"})
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
    if breaks is not None:
        broken = {"id": "b", "type": "function", "function": {"name": "submit_disposition", "arguments": breaks}}
        messages.insert(0, {"role": "assistant", "content": None, "tool_calls": [broken]})
    server.script = [says(200, {"choices": [{"message": message}], "model": "m-1"}) for message in messages]


def test_an_episode_is_played_over_an_endpoint_with_native_calls(server: Server, suite: Suite):
    candidate = opened(server)
    (task_id, *_) = suite.ids(split="test")
    scripted(server, suite, task_id, breaks='{"disposition": ')
    (made,) = collect([Job(task_id)], candidate.policy, episode_maker(suite))
    assert made is not None and made.grade.success and made.stop_reason == "submitted"
    assert made.tool_failures == 1  # the broken arguments are the model's mistake, answered so that it can go on
    sent = server.posts[-1]["messages"]
    told_of = [message for message in sent if message["role"] == "user" and "could not be read" in message["content"]]
    assert len(told_of) == 1
    calls = [call for message in sent for call in message.get("tool_calls", ())]
    answers = [message["tool_call_id"] for message in sent if message["role"] == "tool"]
    assert answers == [call["id"] for call in calls] and len(set(answers)) == len(answers) > 0
    assert all(isinstance(call["function"]["arguments"], str) for call in calls)


def test_an_endpoint_that_dies_in_an_episode_stops_the_collection(server: Server, suite: Suite):
    candidate = opened(server)
    server.stop()
    with pytest.raises(EndpointDown):
        collect([Job(task_id) for task_id in suite.ids(split="test")], candidate.policy, episode_maker(suite))


def test_a_lost_episode_is_none_and_the_others_go_on(server: Server, suite: Suite):
    candidate = opened(server)
    (task_id, *_) = suite.ids(split="test")
    server.script = [says(500, b"")] * 3
    made = collect([Job(task_id), Job(task_id)], candidate.policy, episode_maker(suite), in_flight=1)
    assert made[0] is None and made[1] is not None and made[1].stop_reason == "parse_failure"
    assert made[1].assistant_tokens == 3 * made[1].num_turns  # as the server counts


def test_a_broken_reply_is_asked_again_before_it_counts(server: Server):
    candidate = opened(server)
    server.script = [says(200, {"choices": []})]
    assert finish(candidate.policy, request())[0].message == "yes"


def test_an_episode_that_was_played_before_is_played_from_the_cache(server: Server, suite: Suite, tmp_path: Any):
    (task_id, *_) = suite.ids(split="test")
    played = []
    for _ in range(2):
        candidate = with_cache(opened(server), tmp_path)
        scripted(server, suite, task_id)
        before = len(server.posts)
        (made,) = collect([Job(task_id)], candidate.policy, episode_maker(suite))
        assert made is not None and made.grade.success
        played.append((made.messages, made.assistant_tokens))
        candidate.close()
    assert len(server.posts) == before and played[0] == played[1]
