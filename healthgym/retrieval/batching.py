"""Encoding for many threads at once: what they ask while the encoder is busy is encoded together next."""

import os
from collections.abc import Sequence
from concurrent.futures import Future
from threading import Lock
from weakref import WeakSet

import numpy as np

from healthgym.errors import ConfigError, HealthgymError
from healthgym.retrieval.encoders import Encoder

MAX_BATCH = 256
"""Texts encoded together at most; the rest waits for the next batch."""


class EncoderClosed(HealthgymError, RuntimeError):
    """Something was searched after the service was closed."""


class _Request:
    """The texts of one thread, and where their vectors will be put."""

    def __init__(self, texts: Sequence[str], is_query: bool) -> None:
        self.texts, self.is_query = tuple(texts), is_query
        self.answer: Future[np.ndarray | None] = Future()
        """The vectors; None tells the thread that waits to lead the next batch itself."""


class BatchingEncoder:
    """An encoder in front of another: calls that arrive together share a batch. There is no thread of its own.

    A lone call passes straight through, without waiting for company. While a batch runs, further calls queue up; when it
    ends, the first of them encodes all that wait, each distinct text once. So the busier it is, the larger the batches.

    Args:
        encoder: Does the encoding; is never called by two threads at once.
        max_batch: Texts in a batch at most, a call with more texts of its own aside.
    """

    def __init__(self, encoder: Encoder, max_batch: int = MAX_BATCH) -> None:
        if max_batch < 1:
            raise ConfigError(f"max_batch must be at least 1, got {max_batch}")
        self.encoder, self.max_batch = encoder, max_batch
        self.name, self.dimension, self.fingerprint = encoder.name, encoder.dimension, encoder.fingerprint
        self.fusion_weight: float = getattr(encoder, "fusion_weight", 1.0)
        self.calls = self.batches = 0
        """Calls received and batches encoded: how well batching works."""

        self._closed = False
        self._lock = Lock()
        self._busy = False
        self._waiting: list[_Request] = []
        _ALIVE.add(self)

    def encode(self, texts: Sequence[str], *, is_query: bool = False) -> np.ndarray:
        """Return float32 (n, dimension), as the encoder behind gives them.

        Raises:
            EncoderClosed: close() was called before.
        """
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        request = _Request(texts, is_query)
        with self._lock:
            if self._closed:
                raise EncoderClosed(f"the encoder {self.name!r} of this search service is closed; open a new one")
            self.calls += 1
            leads, self._busy = not self._busy, True
            if not leads:
                self._waiting.append(request)
        if not leads and (vectors := request.answer.result()) is not None:
            return vectors
        return self._lead(request)

    def close(self) -> None:
        """Refuse further calls; those that wait are still answered."""
        with self._lock:
            self._closed = True

    def _lead(self, own: _Request) -> np.ndarray:
        """Encode a request together with what waits, then hand the lead on."""
        batch = [own, *self._take(own)]
        try:
            answers = self._encode(batch)
        except BaseException as error:
            for request in batch[1:]:
                request.answer.set_exception(error)
            raise
        finally:
            self._hand_on()
        for request, vectors in zip(batch[1:], answers[1:], strict=True):
            request.answer.set_result(vectors)
        return answers[0]

    def _take(self, own: _Request) -> list[_Request]:
        """Take as many waiting requests of the same kind as fit."""
        room = self.max_batch - len(own.texts)
        taken: list[_Request] = []
        left: list[_Request] = []
        with self._lock:
            for request in self._waiting:
                fits = request.is_query == own.is_query and len(request.texts) <= room
                room -= len(request.texts) if fits else 0
                (taken if fits else left).append(request)
            self._waiting = left
            self.batches += 1
        return taken

    def _encode(self, batch: list[_Request]) -> list[np.ndarray]:
        rows = {text: row for row, text in enumerate(dict.fromkeys(text for each in batch for text in each.texts))}
        vectors = self.encoder.encode(list(rows), is_query=batch[0].is_query)
        return [vectors[[rows[text] for text in request.texts]] for request in batch]

    def _hand_on(self) -> None:
        with self._lock:
            following = self._waiting.pop(0) if self._waiting else None
            self._busy = following is not None
        if following is not None:
            following.answer.set_result(None)

    def forget(self) -> None:
        """Start afresh in a forked child, where the threads that held the lock or waited do not exist."""
        self._lock = Lock()
        self._busy = False
        self._waiting = []


_ALIVE: WeakSet[BatchingEncoder] = WeakSet()


def _after_fork() -> None:
    for encoder in _ALIVE:
        encoder.forget()


os.register_at_fork(after_in_child=_after_fork)
