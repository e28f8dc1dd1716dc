"""Turns over HTTP, against a server that says what vLLM's says."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from vllm_case import END, PROMPT

from healthgym.errors import ConfigError, HealthgymError
from healthgym.rollout.vllm_client import ServerEngine
from healthgym.rollout.vllm_messages import Adapter, EngineDied, Failed, Generate, Served, Written
from healthgym.rollout.vllm_server import ServerSettings, lora_rank, server_command, server_environment


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, received: str = "r") -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.posts: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, tuple[int, Any]] = {}
        self.delay_s, self.received, self.version = 0.0, received, ""
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no error."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        models = {"data": [{"id": "served", "max_model_len": 64}]}
        self.answer(200, models if self.path == "/v1/models" else {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.posts.append((self.path, body))
        if self.path in self.server.answers:
            self.answer(*self.server.answers[self.path])
        elif self.path == "/collective_rpc":
            if body["method"] == "load_healthgym_weights":
                self.server.version = body["args"][1]
            self.answer(200, {"results": [{"version": self.server.version, "received": self.server.received}]})
        elif self.path == "/v1/completions":
            time.sleep(self.server.delay_s)
            entries = [None, *({str(token): {"logprob": -float(token)}} for token in body["prompt"][1:])]
            choice = {
                "finish_reason": "stop", "token_ids": [body.get("seed", 0), END], "prompt_logprobs": entries,
                "logprobs": {"token_logprobs": [-0.5, -0.25]},
            }  # fmt: skip
            self.answer(200, {"choices": [choice], "usage": {"prompt_tokens_details": {"cached_tokens": 16}}})
        else:
            self.answer(200, "Success")

    def answer(self, status: int, body: Any) -> None:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.shutdown()
    one.server_close()


def turn(key: str, seed: int = 7, adapter: Adapter | None = None) -> Generate:
    return Generate(key, PROMPT[:20], 8, seed, {"temperature": 0.5, "top_p": 1.0, "top_k": 0}, (END,), adapter)


def started(*servers: Server, timeout_s: float = 5.0) -> ServerEngine:
    engine = ServerEngine([one.url for one in servers], timeout_s=timeout_s)
    engine.start()
    return engine


def test_turns_go_out_together_and_come_back_as_token_ids(server: Server):
    engine = started(server)
    assert engine.context_limit == 64
    for key, seed in (("a", 7), ("b", 8)):
        engine.generate(turn(key, seed))
    done: list[Written | Failed] = []
    while len(done) < 2:
        done += engine.finished()
    expected = {Written("a", [7, END], [-0.5, -0.25], 16).key: 7, "b": 8}
    assert {one.key: one.token_ids[0] for one in done if isinstance(one, Written)} == expected
    body = next(body for _, body in server.posts if body["seed"] == 7)
    assert body["prompt"] == PROMPT[:20] and body["stop_token_ids"] == [END] and body["temperature"] == 0.5
    assert body["model"] == "served" and body["logprobs"] == 0 and body["return_token_ids"]
    engine.close()


def test_an_aborted_turn_never_comes_back(server: Server):
    engine = started(server)
    server.delay_s = 0.3
    engine.generate(turn("slow"))
    while not server.posts:
        time.sleep(0.01)
    engine.abort("slow")
    server.delay_s = 0.0
    time.sleep(0.4)
    engine.generate(turn("next"))
    assert [one.key for one in engine.finished()] == ["next"]
    engine.close()


def test_weights_go_to_every_server_and_the_caches_are_emptied(tmp_path: Path):
    servers = [Server(), Server()]
    engine = started(*servers)
    assert engine.load(tmp_path, "v1") == engine.serving() == Served("v1", "r")
    for one in servers:
        assert [path for path, _ in one.posts] == ["/collective_rpc", "/reset_prefix_cache", "/collective_rpc"]
        assert one.posts[0][1]["args"] == [str(tmp_path), "v1"]
    servers[1].received = "other"
    with pytest.raises(HealthgymError, match="serve different weights"):
        engine.serving()
    for one in servers:
        one.shutdown()


def test_attempts_at_one_task_share_a_server():
    servers = [Server(), Server()]
    engine = started(*servers)
    for key in "abcd":
        engine.generate(turn(key, ord(key)))
    done = 0
    while done < 4:
        done += len(engine.finished())
    assert sorted(len(one.posts) for one in servers) == [0, 4]
    for one in servers:
        one.shutdown()


def test_adapters_replace_each_other_and_requests_name_theirs(server: Server):
    engine = started(server)
    adapters = [Adapter("one", 1, "/one"), Adapter("two", 2, "/two")]
    for adapter in adapters:
        engine.use_adapter(adapter)
    engine.generate(turn("a", adapter=adapters[1]))
    engine.finished()
    assert [path for path, _ in server.posts][:3] == [
        "/v1/load_lora_adapter", "/v1/load_lora_adapter", "/v1/unload_lora_adapter",
    ]  # fmt: skip
    assert server.posts[2][1]["lora_name"] == "one" and server.posts[3][1]["model"] == "two"


def test_scores_are_those_of_the_prompt(server: Server):
    assert started(server).score([3, 4, 5], None) == [-4.0, -5.0]


def test_a_server_that_is_not_there_is_named_with_the_command_to_start_one():
    with pytest.raises(EngineDied, match=r"No vLLM server answers at http://127.0.0.1:9 .*healthgym vllm-serve"):
        ServerEngine(["http://127.0.0.1:9"], timeout_s=0.1).start()
    with pytest.raises(ConfigError, match="is no address"):
        ServerEngine(["localhost:8000"])


@pytest.mark.parametrize(("status", "outcome"), [(400, Failed), (500, EngineDied)])
def test_a_refused_turn_fails_alone_and_a_broken_server_is_dead(server: Server, status: int, outcome: type):
    engine = started(server)
    server.answers["/v1/completions"] = (status, {"message": "too long"})
    engine.generate(turn("a"))
    if outcome is EngineDied:
        with pytest.raises(EngineDied, match=r"failed on /v1/completions \(500\)"):
            engine.finished()
    else:
        (failed,) = engine.finished()
        assert isinstance(failed, Failed) and "too long" in failed.reason


def test_a_server_without_the_switches_for_weights_is_told_apart(server: Server, tmp_path: Path):
    engine = started(server)
    server.answers["/collective_rpc"] = (404, {})
    with pytest.raises(HealthgymError, match=r"cannot take weights.*healthgym vllm-serve"):
        engine.serving()


def test_a_server_that_hangs_up_is_dead():
    server = Server()
    engine = started(server)
    server.shutdown()
    server.server_close()
    engine.generate(turn("a"))
    with pytest.raises(EngineDied, match="is gone"):
        engine.finished()


def test_the_server_listens_on_this_machine_alone_unless_told_otherwise():
    command = server_command(ServerSettings(model="m", lora_rank=20, kv_cache_gb=0.5), ["--seed", "3"])
    given = dict(pairwise(command))
    assert given["--host"] == "127.0.0.1" and given["--logprobs-mode"] == "processed_logprobs"
    assert given["--max-lora-rank"] == "32" and given["--kv-cache-memory-bytes"] == str(2**29)
    assert command[-2:] == ["--seed", "3"]
    assert server_environment(ServerSettings(model="m"))["VLLM_SERVER_DEV_MODE"] == "1"
    assert "VLLM_ALLOW_RUNTIME_LORA_UPDATING" not in server_environment(ServerSettings(model="m"))
    assert [lora_rank(rank) for rank in (1, 4, 16, 500)] == [1, 8, 16, 512]
