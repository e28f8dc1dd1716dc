"""A cache of responses in one file: what a candidate has answered once is not asked again."""

import json
import logging
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError
from healthgym.evaluation.candidate import Candidate
from healthgym.rollout.policy import Counted, Policy, Prepared, TurnRequest, TurnResult

logger = logging.getLogger(__name__)

FORMAT = 1
"""Part of every key; raised when stored answers could no longer be read as they were meant."""
FILE = "responses.sqlite"
WAIT_S = 60.0
"""Longest that one process waits for another's write."""
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_COLUMNS = "key BLOB PRIMARY KEY, digest BLOB NOT NULL, answer TEXT NOT NULL"


class CachedPolicy:
    """Answers turns from a file where it can, from another policy where it must, and remembers what that said.

    Failures of the infrastructure are never remembered, nor are turns that had no room in the context. Several processes
    may share a file. A damaged one is set aside under another name and begun anew.

    Args:
        policy: The other policy.
        file: The cache; made when absent.
        identity: All that answers depend on beside the request: hashes of the candidate, sampling, engine.

    Raises:
        ConfigError: The file cannot be written.
    """

    def __init__(self, policy: Policy, file: str | Path, identity: Mapping[str, Any]) -> None:
        self.policy, self.name = policy, policy.name
        self.store = ResponseFile(Path(file))
        self.hits = 0
        """Turns answered from the file."""
        self.misses = 0
        """Turns that were asked of the other policy."""
        self._identity = json.dumps([FORMAT, identity], sort_keys=True, default=str)
        self._ready: dict[int, TurnResult] = {}
        self._asked: dict[int, bytes] = {}
        self._known: set[int] = set()  # episodes the other policy has heard of

    def prepare(self) -> None:
        """Have the other policy get ready, where that is something it does."""
        if isinstance(self.policy, Prepared):
            self.policy.prepare()

    def submit(self, request: TurnRequest) -> None:
        """Queue one turn."""
        key = self._key(request)
        found = self.store.get(key)
        if found is not None:
            self.hits += 1
            self._ready[request.key] = _result(request.key, found)
            return
        self.misses += 1
        self._asked[request.key] = key
        self._known.add(request.key)
        self.policy.submit(request)

    def poll(self) -> list[TurnResult]:
        """Return remembered turns at once; else what the other policy has finished."""
        if self._ready:
            done, self._ready = list(self._ready.values()), {}
            return done
        if not self._asked:
            return []
        results = self.policy.poll()
        for result in results:
            key = self._asked.pop(result.key, None)
            if key is not None and _is_worth_keeping(result):
                self.store.put(key, _record(result))
        return results

    def cancel(self, key: int) -> None:
        """Forget an episode; the file keeps what was answered."""
        self._ready.pop(key, None)
        self._asked.pop(key, None)
        if key in self._known:
            self._known.discard(key)
            self.policy.cancel(key)

    def counters(self) -> dict[str, float]:
        """Return totals for the log, the other policy's included."""
        own = {"cache/hits": float(self.hits), "cache/misses": float(self.misses)}
        return {**(self.policy.counters() if isinstance(self.policy, Counted) else {}), **own}

    def close(self) -> None:
        """Close the file; the other policy is its owner's to close."""
        self.store.close()

    def _key(self, request: TurnRequest) -> bytes:
        """Return a digest of the identity and of all that the request asks; tokens say it all where there are some."""
        asked: Any
        if len(request.prompt_ids):
            asked = ["tokens", list(map(int, request.prompt_ids))]
        else:
            asked = ["messages", list(request.messages), list(request.tools)]
        text = json.dumps([asked, request.seed, request.max_tokens], sort_keys=True, default=str)
        return sha256(f"{self._identity}\n{text}".encode()).digest()


def with_cache(candidate: Candidate, folder: str | Path) -> Candidate:
    """Return a candidate whose answers are kept in `folder` and asked once.

    Raises:
        ConfigError: The folder cannot be written.
    """
    identity = {
        "engine": candidate.engine, "hashes": dict(candidate.hashes), "sampling": dict(candidate.sampling),
        "max_context": candidate.max_context,
    }  # fmt: skip
    policy = CachedPolicy(candidate.policy, Path(folder) / FILE, identity)

    def close() -> None:
        policy.close()
        candidate.close()

    def verify() -> dict[str, str]:
        return {**candidate.verify(), "cached_answers": str(policy.hits)}

    return replace(candidate, policy=policy, verify=verify, close=close)


class ResponseFile:
    """Answers by key in an SQLite file. What cannot be kept is warned of once: an evaluation goes on without it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._warned = False
        self._connection: sqlite3.Connection | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._open()
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(
                f"The response cache {path} cannot be used ({error}). Give another folder, or none."
            ) from error

    def get(self, key: bytes) -> dict[str, Any] | None:
        """Return an answer, or None when it is not there whole."""
        row = self._do("SELECT digest, answer FROM responses WHERE key = ?", (key,))
        if row is None or _digest(row[1]) != row[0]:
            return None
        record = json.loads(row[1])
        return record if isinstance(record, dict) else None

    def put(self, key: bytes, record: Mapping[str, Any]) -> None:
        """Keep an answer; one that is there already is replaced."""
        text = json.dumps(record)
        self._do("INSERT OR REPLACE INTO responses VALUES (?, ?, ?)", (key, _digest(text), text))

    def close(self) -> None:
        """Close the file; doing it twice changes nothing."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> None:
        for is_last in (False, True):
            # Each statement is a transaction of its own: a kill loses at most the answer being written.
            connection = sqlite3.connect(self.path, timeout=WAIT_S, isolation_level=None, check_same_thread=False)
            self._inode = self.path.stat().st_ino
            try:
                connection.execute(f"CREATE TABLE IF NOT EXISTS responses ({_COLUMNS})")
                connection.execute("SELECT key, digest, answer FROM responses LIMIT 1").fetchone()
            except sqlite3.DatabaseError as error:
                connection.close()
                if is_last or not _is_damaged(error):
                    raise
                self._set_aside(error)
            else:
                self._connection = connection
                return

    def _do(self, statement: str, values: Sequence[Any]) -> Any:
        """Run a statement and return its first row; None when there is none or the file fails."""
        if self._connection is None:
            return None
        try:
            return self._connection.execute(statement, values).fetchone()
        except sqlite3.DatabaseError as error:
            if _is_damaged(error):
                self.close()
                self._set_aside(error)
                with suppress(sqlite3.Error, OSError):
                    self._open()
            elif not self._warned:
                self._warned = True
                logger.warning("The response cache %s fails (%s); what it cannot keep is asked again", self.path, error)
            return None

    def _set_aside(self, error: sqlite3.Error) -> None:
        """Move a damaged file out of the way, unless another process has done so already."""
        with suppress(FileNotFoundError):
            if self.path.stat().st_ino != self._inode:
                return
            aside = self.path.with_name(f"{self.path.name}.damaged-{time.time_ns()}")
            self.path.rename(aside)
            self.path.with_name(f"{self.path.name}-journal").unlink(missing_ok=True)
            logger.warning(
                "The response cache %s is damaged (%s); it was set aside as %s", self.path, error, aside.name
            )


def _is_damaged(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    is_other_table = isinstance(error, sqlite3.OperationalError) and "no such column" in str(error)
    return is_other_table or (code is not None and code & 0xFF in _DAMAGED)


def _is_worth_keeping(result: TurnResult) -> bool:
    has_content = bool(result.message) or bool(len(result.token_ids))
    return result.error is None and (has_content or not result.clipped)


def _record(result: TurnResult) -> dict[str, Any]:
    message = result.message if isinstance(result.message, str) else dict(result.message)
    return {
        "message": message,
        "token_ids": list(map(int, result.token_ids)),
        "logprobs": None if result.logprobs is None else list(map(float, result.logprobs)),
        "clipped": result.clipped,
        "num_tokens": result.num_tokens,
    }


def _result(key: int, record: Mapping[str, Any]) -> TurnResult:
    return TurnResult(
        key, record["message"], record["token_ids"], record["logprobs"], clipped=record["clipped"],
        num_tokens=record["num_tokens"],
    )  # fmt: skip


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
