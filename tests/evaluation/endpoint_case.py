"""A server that speaks OpenAI's protocol and misbehaves as it is told to."""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from healthgym.rollout.endpoint import Patience
from healthgym.rollout.policy import TurnRequest

QUICK = Patience(timeout_s=2.0, total_s=5.0, retries=2, first_wait_s=0.01, longest_wait_s=0.02, give_up_after=3)
Misdeed = Callable[["Handler"], None]


class Server(ThreadingHTTPServer):
    """Answers what it is asked, once `script` is used up: what each of its entries does, one request a piece."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Misdeed] = []
        self.posts: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.models: Any = {"data": [{"id": "m", "owned_by": "someone", "max_model_len": 64}]}
        self.message: dict[str, Any] = {"role": "assistant", "content": "yes"}
        self.reply: dict[str, Any] = {"model": "m-1", "system_fingerprint": "fp1"}
        self.finish_reason, self.refuses = "stop", {}
        self.completions: Callable[[dict[str, Any]], Any] | None = None
        self.counts_tools = True
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def stop(self) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no error."""


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/v1/models" and self.server.models is not None:
            self.answer(200, self.server.models)
        else:
            self.answer(404, {"error": "no such path"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/v1/completions" and self.server.completions is not None:
            self.answer(200, self.server.completions(body))
            return
        if self.path != "/v1/chat/completions":
            self.answer(404, {"error": "no such path"})
            return
        self.server.posts.append(body)
        self.server.headers.append(dict(self.headers))
        for field, (status, text) in self.server.refuses.items():
            if field in body or (field == "auto" and body.get("tool_choice") == "auto"):
                self.answer(status, {"error": {"message": text}})
                return
        if self.server.script:
            self.server.script.pop(0)(self)
        else:
            self.answer(200, self.good(body))

    def good(self, body: Mapping[str, Any]) -> dict[str, Any]:
        choice = {"index": 0, "message": self.server.message, "finish_reason": self.server.finish_reason}
        prompt = 7 + 20 * len(body.get("tools", ())) * self.server.counts_tools
        usage = {"prompt_tokens": prompt, "completion_tokens": 3}
        return {"choices": [choice], "usage": usage, **self.server.reply}

    def answer(self, status: int, body: Any, **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


def says(status: int, body: Any, **headers: str) -> Misdeed:
    return lambda handler: handler.answer(status, body, **headers)


def is_slow(seconds: float) -> Misdeed:
    def wait(handler: Handler) -> None:
        time.sleep(seconds)
        handler.answer(200, handler.good({}))

    return wait


def waits_for(barrier: threading.Barrier) -> Misdeed:
    def wait(handler: Handler) -> None:
        barrier.wait(30)
        handler.answer(200, handler.good({}))

    return wait


def is_cut_off(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "500")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [{"mess')
    handler.close_connection = True


def hangs_up(handler: Handler) -> None:
    handler.close_connection = True
    handler.connection.close()


def request(
    key: int = 0, text: str = "x", *, messages: Sequence[Any] = (), tools: Sequence[Any] = (), seed: int = 0
) -> TurnRequest:
    return TurnRequest(key, f"t{key}", messages or [{"role": "user", "content": text}], tools, max_tokens=8, seed=seed)


def finish(policy: Any, *requests: TurnRequest) -> dict[int, Any]:
    """Ask for turns together and return the results by key."""
    for one in requests:
        policy.submit(one)
    made: dict[int, Any] = {}
    while len(made) < len(requests):
        made |= {result.key: result for result in policy.poll()}
    for one in requests:
        policy.cancel(one.key)
    return made
