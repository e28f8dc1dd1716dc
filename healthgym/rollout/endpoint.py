"""JSON over HTTP with one server: many requests in flight, retried while that may help, the run stopped once it cannot."""

import asyncio
import json
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

from healthgym.errors import ConfigError, HealthgymError, MissingDependency

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)
Result = TypeVar("Result")

MAX_REPLY_BYTES = 64 << 20
QUOTED = 300
"""Characters of a server's own words that a message repeats."""
PASSING = frozenset({408, 409, 425, 429})
"""Statuses below 500 that may be different next time."""
FINAL = frozenset({401, 403, 404})
"""Statuses that every further request would get as well."""


class EndpointFailed(HealthgymError):
    """No usable answer came, after every retry.

    Args:
        message: What came instead.
        status: Of the last answer; None when there was none, or an unusable one.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class EndpointRefused(HealthgymError):
    """The server refused a request; asking again would not help.

    Args:
        status: Of the answer.
        said: The server's own words.
        message: The whole message.
    """

    def __init__(self, status: int, said: str, message: str) -> None:
        super().__init__(message)
        self.status, self.said = status, said


class EndpointDown(HealthgymError):
    """The endpoint answers nothing any more: the run has to stop, and can be resumed."""


class Unusable(HealthgymError):
    """An answer that is not what the protocol promises; raised by readers of answers, and retried."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long a server is waited for.

    timeout_s: longest one attempt at a request may take, from connecting to the last byte.
    total_s: longest all attempts at it may take together, waits included.
    retries: attempts after the first.
    first_wait_s: before the first retry; doubles each time, up to `longest_wait_s`, unless the server names a time.
    longest_wait_s: longest wait that is not the server's own wish.
    give_up_after: requests in a row that failed for good, after which the run stops.
    """

    timeout_s: float = 300.0
    total_s: float = 900.0
    retries: int = 5
    first_wait_s: float = 1.0
    longest_wait_s: float = 30.0
    give_up_after: int = 10

    def __post_init__(self) -> None:
        if min(self.timeout_s, self.total_s, self.first_wait_s, self.longest_wait_s) <= 0:
            raise ConfigError(f"the times to wait for an endpoint must be above 0 s, got {self}")
        if self.retries < 0 or self.give_up_after < 1:
            raise ConfigError(f"retries must be 0 or more and give_up_after 1 or more, got {self}")


class Endpoint:
    """One server. Requests run on an event loop of their own thread, as many at once as are submitted.

    Args:
        url: Where its paths begin, such as http://127.0.0.1:8000/v1.
        api_key_env: Environment variable that holds the key; None sends none.
        patience: How long it is waited for.
        connections: Most requests on their way at once; more wait.

    Raises:
        ConfigError: The url or the variable cannot be used.
        MissingDependency: httpx is not installed.
    """

    def __init__(
        self, url: str, *, api_key_env: str | None = None, patience: Patience | None = None, connections: int = 256
    ) -> None:
        self.url, self.patience = checked_url(url), patience or Patience()
        self._key = _key(api_key_env)
        self.retried = 0
        """Attempts that were made again."""
        self.down: EndpointDown | None = None
        """Why the run has to stop; None while it may go on."""
        self._answered, self._failed, self._refused = 0, 0, 0
        self._client = self._new_client(connections)
        self._gate = asyncio.Semaphore(connections)
        self._random = random.Random(0)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="healthgym-endpoint", daemon=True)
        self._thread.start()

    @property
    def authorization(self) -> dict[str, str]:
        """The header that carries the key, for other clients of the same server; empty without one."""
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    def ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, patience: Patience | None = None
    ) -> Any:
        """Wait for one answer and return its JSON. What comes of it says nothing about whether the run may go on.

        Args:
            method: GET or POST.
            path: After the url; one that starts with http is taken as it is.
            body: Sent as JSON.
            patience: Instead of the endpoint's own.

        Raises:
            EndpointFailed: No usable answer came.
            EndpointRefused: The server refused.
        """
        return self._run(self._asked(method, path, body, _as_it_is, patience or self.patience)).result()

    def submit(self, path: str, body: Mapping[str, Any], read: Callable[[Any], Result]) -> Future[Result]:
        """Post a request and return what will be read from its answer, or raise as `ask` does.

        Args:
            path: After the url.
            body: Sent as JSON.
            read: Reads the answer's JSON; raises Unusable for one that is not what was promised.
        """
        return self._run(self._counted(self._asked("POST", path, body, read, self.patience)))

    def close(self) -> None:
        """End what is under way and let go of the connections; doing it twice changes nothing."""
        if self._loop.is_closed():
            return
        self._run(self._ended()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _new_client(self, connections: int) -> "httpx.AsyncClient":
        try:
            import httpx
        except ImportError as error:
            raise MissingDependency.extra("Evaluating a model behind an endpoint", "eval") from error
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=connections)
        # An attempt has one limit for everything, connecting included: asyncio's.
        return httpx.AsyncClient(headers=self.authorization, timeout=None, limits=limits)

    async def _ended(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._client.aclose()

    async def _counted(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Keep count of what becomes of requests, and say when there is no use in going on."""
        try:
            result = await work
        except EndpointFailed as error:
            self._failed += 1
            if self._failed >= self.patience.give_up_after:
                self._give_up(f"{self._failed} requests in a row got no answer, the last: {error}")
            raise
        except EndpointRefused as error:
            self._refused += 1
            if error.status in FINAL:
                self._give_up(str(error))
            elif not self._answered and self._refused >= self.patience.give_up_after:
                self._give_up(f"the first {self._refused} requests were all refused, the last: {error}")
            raise
        self._answered, self._failed = self._answered + 1, 0
        return result

    def _give_up(self, reason: str) -> None:
        if self.down is None:
            self.down = EndpointDown(
                f"{reason}\nStopped: no further request would fare better. Finished rows are kept; once the endpoint "
                "serves again, the same command goes on from there."
            )

    async def _asked(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        read: Callable[[Any], Result],
        patience: Patience,
    ) -> Result:
        started, attempt = time.monotonic(), 0
        while True:
            async with self._gate:
                limit_s = min(patience.timeout_s, max(1.0, patience.total_s - (time.monotonic() - started)))
                outcome = await self._attempt(method, path, body, read, limit_s)
            if isinstance(outcome, _Answer):
                return outcome.value
            left = patience.total_s - (time.monotonic() - started)
            wait = outcome.wait_s if outcome.wait_s is not None else self._backoff(attempt, patience)
            if attempt >= patience.retries or wait >= left:
                tries = "once" if attempt == 0 else f"{attempt + 1} times"
                raise EndpointFailed(f"{self._at(path)} {outcome.reason} (asked {tries})", outcome.status)
            attempt += 1
            self.retried += 1
            logger.debug("%s %s; asking again in %.1f s", self._at(path), outcome.reason, wait)
            await asyncio.sleep(wait)

    async def _attempt(
        self, method: str, path: str, body: Mapping[str, Any] | None, read: Callable[[Any], Result], limit_s: float
    ) -> "_Answer[Result] | _Again":
        """Make one attempt; raise EndpointRefused when others would be in vain."""
        import httpx

        try:
            async with asyncio.timeout(limit_s):
                status, headers, data = await self._exchange(method, self._at(path), body)
        except TimeoutError:
            return _Again(f"did not answer within {limit_s:g} s")
        except httpx.RequestError as error:
            return _Again(f"cannot be reached ({type(error).__name__}: {str(error) or 'connection lost'})")
        except Unusable as error:
            return _Again(str(error))
        said = self._quoted(data)
        if status in PASSING or status >= 500:
            return _Again(f"answered {status}: {said}", retry_after_s(headers.get("retry-after")), status)
        if status >= 300:
            moved = f" It points to {headers['location']}: give that url." if "location" in headers else ""
            raise EndpointRefused(status, said, f"{self._at(path)} refused with {status}: {said}{moved}")
        try:
            return _Answer(read(json.loads(data)))
        except Unusable as error:
            return _Again(f"gave an unusable answer: {error}")
        except (ValueError, RecursionError):
            return _Again(f"answered {status} with something that is no JSON: {said}")

    async def _exchange(
        self, method: str, url: str, body: Mapping[str, Any] | None
    ) -> tuple[int, Mapping[str, str], bytes]:
        # Half characters of a model's own, sent back to it, are no UTF-8.
        content = None if body is None else json.dumps(body, ensure_ascii=True).encode()
        headers = {"Content-Type": "application/json"} if content is not None else {}
        async with self._client.stream(method, url, content=content, headers=headers) as response:
            data = bytearray()
            async for chunk in response.aiter_bytes():
                data += chunk
                if len(data) > MAX_REPLY_BYTES:
                    raise Unusable(f"sent more than {MAX_REPLY_BYTES >> 20} MiB")
            return response.status_code, response.headers, bytes(data)

    def _at(self, path: str) -> str:
        return path if path.startswith("http") else self.url + path

    def _backoff(self, attempt: int, patience: Patience) -> float:
        wait = min(patience.longest_wait_s, patience.first_wait_s * 2**attempt)
        return wait * self._random.uniform(0.75, 1.25)  # so that requests that failed together come back apart

    def _quoted(self, data: bytes) -> str:
        """Return the server's words, short, on one line, and without the key, which some servers repeat."""
        text = " ".join(data[: 8 * QUOTED].decode(errors="replace").split())
        if self._key:
            text = text.replace(self._key, "***")
        return text[:QUOTED] + ("..." if len(text) > QUOTED else "") or "(nothing)"


@dataclass(frozen=True, slots=True)
class _Answer(Generic[Result]):
    value: Result


@dataclass(frozen=True, slots=True)
class _Again:
    """Why an attempt may be made again, and when, where the server says so."""

    reason: str
    wait_s: float | None = None
    status: int | None = None


def checked_url(url: str) -> str:
    """Return an endpoint's address without a trailing slash.

    Raises:
        ConfigError: It is none, or holds a password, which would end up in files.
    """
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not close, or a port that is none
        is_whole = False
    if not is_whole:
        raise ConfigError(f"{url!r} is no endpoint; expected something like http://127.0.0.1:8000/v1")
    if parts.username or parts.password or parts.query:
        raise ConfigError(
            f"The address of the endpoint at {parts.hostname} holds credentials or a query, which would end up in files and "
            "logs. Put the key into an environment variable and name that variable."
        )
    return url.rstrip("/")


def retry_after_s(value: str | None) -> float | None:
    """Return the seconds a Retry-After header asks for, or None when it says nothing readable.

    Source: RFC 9110 (2022), section 10.2.3: a number of seconds or a date.
    """
    if value is None:
        return None
    if value.strip().isdigit():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _as_it_is(answer: Any) -> Any:
    return answer


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError(f"The environment variable {variable} holds no API key. Set it, or name another variable.")
    if not key.isascii() or not key.isprintable():
        raise ConfigError(f"The API key in {variable} holds characters that no header can carry. Set it again.")
    return key
