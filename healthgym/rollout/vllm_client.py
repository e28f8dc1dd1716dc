"""Talks to vLLM servers that several trainers may share: turns as token ids over HTTP, weights through a folder."""

import json
import queue
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zlib import crc32

from healthgym.errors import ConfigError, HealthgymError
from healthgym.rollout.vllm_messages import Adapter, EngineDied, Failed, Generate, Served, Written

MAX_CONNECTIONS = 512
ROUTED_TOKENS = 256
"""Leading tokens of a prompt that choose its server: attempts at one task share them, and so share a prefix cache."""
RETRY_S = 0.5


class ServerEngine:
    """One or more vLLM servers, started with `healthgym vllm-serve`. An `Engine`.

    Args:
        urls: Where they listen.
        timeout_s: How long a server may take to come up, to answer, or to come back after it died.
        model: Name of the model or adapter to ask for; None takes the first that a server lists.
        headers: Sent with every request, such as an authorization.
        watch: Called while a server is waited for, with True at first; may start it, or raise EngineDied.
    """

    def __init__(
        self,
        urls: Sequence[str],
        *,
        timeout_s: float = 600.0,
        model: str | None = None,
        headers: Mapping[str, str] | None = None,
        watch: Callable[[bool], None] = lambda is_first_look: None,
    ) -> None:
        self.urls, self.timeout_s = [url.rstrip("/") for url in urls], timeout_s
        self.model, self._headers = model, {"Content-Type": "application/json", **(headers or {})}
        for url in self.urls:
            if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
                raise ConfigError(
                    f"rollout.vllm.urls: {url!r} is no address; expected something like http://127.0.0.1:8000"
                )
        self._watch = watch
        self.name = "vllm"
        self.context_limit = 0
        self._models: dict[str, str] = {}
        self._connections: dict[str, HTTPConnection] = {}
        self._done: queue.SimpleQueue[Written | Failed | EngineDied] = queue.SimpleQueue()
        self._threads = ThreadPoolExecutor(MAX_CONNECTIONS, thread_name_prefix="vllm")
        self._probed = count()
        self._adapter: Adapter | None = None

    def start(self) -> None:
        """Wait until every server answers. Raises EngineDied when one does not within `timeout_s`."""
        self._done = queue.SimpleQueue()  # what was under way is asked again
        self._adapter = None
        limits = []
        for url in self.urls:
            deadline = time.monotonic() + self.timeout_s
            self._watch(True)
            while True:
                with suppress(EngineDied):
                    self._ask(url, "GET", "/health")
                    listed = self._ask(url, "GET", "/v1/models")["data"]
                    model = next((one for one in listed if one["id"] == self.model), listed[0])
                    break
                if time.monotonic() > deadline:
                    raise EngineDied(
                        f"No vLLM server answers at {url} after {self.timeout_s:.0f} s. Start one with: healthgym vllm-serve "
                        f"MODEL --port {urlsplit(url).port or 80}"
                    )
                time.sleep(RETRY_S)
                self._watch(False)
            self._models[url] = self.model or model["id"]
            limits.append(int(model["max_model_len"] or listed[0]["max_model_len"]))
        self.context_limit = min(limits)

    def generate(self, request: Generate) -> None:
        """Hand over one turn to be written."""
        url = self.urls[crc32(repr(list(request.prompt_ids[:ROUTED_TOKENS])).encode()) % len(self.urls)]
        connection = self._connections[request.key] = self._connect(url)
        self._threads.submit(self._write, request, url, connection, self._done)

    def finished(self) -> list[Written | Failed]:
        """Wait for at least one turn and return those that are done."""
        done = [self._done.get()]
        with suppress(queue.Empty):
            while True:
                done.append(self._done.get_nowait())
        for one in done:
            if isinstance(one, EngineDied):
                raise one
        return [one for one in done if not isinstance(one, EngineDied)]

    def abort(self, key: str) -> None:
        """Stop writing a turn: the server notices that nobody listens."""
        connection = self._connections.pop(key, None)
        if connection is not None and connection.sock is not None:
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)

    def load(self, folder: Path, version: str) -> Served:
        """Have every server read the weights in a folder, and forget what was cached under the old ones."""
        served = self._everywhere("load_healthgym_weights", str(folder.resolve()), version)
        for url in self.urls:
            self._ask(url, "POST", "/reset_prefix_cache", {})
        return served

    def serving(self) -> Served:
        """Tell which weights the servers hold. Raises HealthgymError when they differ."""
        return self._everywhere("healthgym_weights")

    def use_adapter(self, adapter: Adapter) -> None:
        """Load a LoRA adapter on every server and drop the one before."""
        for url in self.urls:
            body = {"lora_name": adapter.name, "lora_path": str(Path(adapter.folder).resolve()), "load_inplace": True}
            self._ask(url, "POST", "/v1/load_lora_adapter", body)
            if self._adapter is not None and self._adapter.name != adapter.name:
                self._ask(url, "POST", "/v1/unload_lora_adapter", {"lora_name": self._adapter.name})
        self._adapter = adapter

    def score(self, ids: Sequence[int], adapter: Adapter | None) -> list[float]:
        """Return the log-probability of each token but the first, in nats; the servers take turns."""
        url = self.urls[next(self._probed) % len(self.urls)]
        body = {"prompt": list(ids), "max_tokens": 1, "prompt_logprobs": 0, "model": self._model(url, adapter)}
        entries = self._ask(url, "POST", "/v1/completions", body)["choices"][0]["prompt_logprobs"][1:]
        return [entry[str(token)]["logprob"] for entry, token in zip(entries, ids[1:], strict=True)]

    def sleep(self) -> None:
        """A server that others use stays awake."""

    def wake(self) -> None:
        """It is awake."""

    def close(self) -> None:
        """Let go of the servers; they run on."""
        for key in list(self._connections):
            self.abort(key)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _write(
        self,
        request: Generate,
        url: str,
        connection: HTTPConnection,
        done: queue.SimpleQueue[Written | Failed | EngineDied],
    ) -> None:
        """Run one request to its end in a thread."""
        body = {
            "model": self._model(url, request.adapter),
            "prompt": list(request.prompt_ids),
            "max_tokens": request.max_tokens,
            "seed": request.seed,
            **request.sampling,
            "logprobs": 0,  # the sampled token's alone
            "return_token_ids": True,
            "ignore_eos": True,
            "stop_token_ids": list(request.end_ids),
            "add_special_tokens": False,
        }
        try:
            answer = self._ask(url, "POST", "/v1/completions", body, connection=connection)
        except EngineDied as error:
            if request.key in self._connections:  # else it was aborted
                done.put(error)
        except HealthgymError as error:
            done.put(Failed(request.key, str(error)))
        else:
            done.put(_written(request.key, answer))
        finally:
            self._connections.pop(request.key, None)

    def _model(self, url: str, adapter: Adapter | None) -> str:
        return self._models[url] if adapter is None else adapter.name

    def _everywhere(self, method: str, *arguments: str) -> Served:
        """Call a method of the workers on every server and return what all of them said."""
        said: dict[str, Served] = {}
        for url in self.urls:
            body = {"method": method, "args": list(arguments), "timeout": self.timeout_s}
            for result in self._ask(url, "POST", "/collective_rpc", body)["results"]:
                said[url] = Served(**result)
        if len(set(said.values())) > 1:
            raise HealthgymError(
                "The vLLM servers serve different weights: " + ", ".join(f"{url}: {one}" for url, one in said.items())
            )
        return next(iter(said.values()))

    def _connect(self, url: str) -> HTTPConnection:
        parts = urlsplit(url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        return kind(parts.hostname or "", parts.port, timeout=self.timeout_s)

    def _ask(
        self,
        url: str,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        connection: HTTPConnection | None = None,
    ) -> Any:
        """Return a server's answer. Raises EngineDied when there is none, HealthgymError when it refuses."""
        connection = connection or self._connect(url)
        try:
            payload = None if body is None else json.dumps(body)
            connection.request(method, urlsplit(url).path + path, payload, self._headers)
            response = connection.getresponse()
            status, text = response.status, response.read().decode(errors="replace")
        except (OSError, HTTPException) as error:
            raise EngineDied(f"The vLLM server at {url} is gone ({type(error).__name__}: {error})") from error
        finally:
            connection.close()
        if status == 404 and path in ("/collective_rpc", "/reset_prefix_cache"):
            raise HealthgymError(
                f"The server at {url} cannot take weights (no {path}). Start it with: healthgym vllm-serve MODEL"
            )
        if status >= 500:
            raise EngineDied(f"The vLLM server at {url} failed on {path} ({status}): {text[:500]}")
        if status >= 400:
            raise HealthgymError(f"The vLLM server at {url} refused {path} ({status}): {text[:500]}")
        return _parsed(text)


def _parsed(text: str) -> Any:
    """Return an answer's JSON; some answers, such as that to an adapter, are plain text."""
    with suppress(json.JSONDecodeError):
        return json.loads(text)
    return text


def _written(key: str, answer: Mapping[str, Any]) -> Written | Failed:
    choice = answer["choices"][0]
    if choice["finish_reason"] not in ("stop", "length"):
        return Failed(key, f"vLLM ended the request with {choice['finish_reason']!r}")
    details = answer["usage"].get("prompt_tokens_details") or {}
    return Written(
        key, choice["token_ids"], choice["logprobs"]["token_logprobs"], int(details.get("cached_tokens") or 0)
    )
