"""One search service for all episodes of a rollout: queries encoded together, answers remembered."""

import os
import sys
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from threading import Lock
from types import TracebackType
from typing import Any
from weakref import WeakSet

from healthgym.retrieval.batching import BatchingEncoder
from healthgym.retrieval.passages import Passage
from healthgym.retrieval.retriever import Hit, Retriever, check_choice, check_query

REMEMBERED = 10_000
"""Answers kept; the one not asked for longest goes first."""


class SearchService:
    """A retriever shared by the threads of a rollout. It finds what the retriever finds.

    Query texts that threads ask at the same time are encoded in one batch; each text is encoded once (the retriever keeps
    10,000 vectors) and each search is run once as long as its answer is remembered. There is no background thread: a
    service survives a fork, and processes that open the same index share its files in memory.

    Args:
        retriever: Searches. From now on its queries are encoded through this service.
        remembered: Answers kept.

    Example:
        with SearchService(open_retriever("index")) as service:
            collect(jobs, policy, episode_maker(Services(retriever=service)), workers=16)
    """

    def __init__(self, retriever: Retriever, remembered: int = REMEMBERED) -> None:
        self.retriever, self.remembered = retriever, remembered
        self.encoder = retriever.encoder = BatchingEncoder(retriever.encoder)
        self.searches = self.repeated = 0
        """Searches asked for, and those answered from memory."""

        self._answers: OrderedDict[tuple[Any, ...], tuple[Hit, ...]] = OrderedDict()
        self._lock = Lock()
        _ALIVE.add(self)

    @property
    def info(self) -> dict[str, Any]:
        """What the retriever says of itself, and what the service did so far."""
        counts = {"searches": self.searches, "repeated": self.repeated}
        return {**self.retriever.info, **counts, "encoded_batches": self.encoder.batches}

    def search(self, query: str, k: int = 5, **options: Any) -> list[Hit]:
        """Return at most k hits; see Retriever.search for the options and errors."""
        text = check_query(query)
        check_choice(k, options.get("mode", "fused"))
        options = {name: _settled(value) for name, value in options.items()}
        key = (text, k, *sorted(options.items()))
        with self._lock:
            self.searches += 1
            if (known := self._answers.get(key)) is not None:
                self.repeated += 1
                self._answers.move_to_end(key)
                return list(known)
        hits = self.retriever.search(text, k, **options)
        with self._lock:
            self._answers[key] = tuple(hits)
            while len(self._answers) > self.remembered:
                self._answers.popitem(last=False)
        return hits

    def search_many(self, queries: Sequence[str], k: int = 5, **options: Any) -> list[list[Hit]]:
        """Search for each query under the same options; see Retriever.search_many."""
        return self.retriever.search_many(queries, k, **options)

    def passage(self, passage_id: str) -> Passage:
        """Return a passage by id; see Retriever.passage."""
        return self.retriever.passage(passage_id)

    def close(self) -> None:
        """Refuse searches for new texts; those under way end. May be called twice."""
        self.encoder.close()

    def __enter__(self) -> "SearchService":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _settled(value: Any) -> Any:
    """Return a filter as something that compares by its content."""
    return frozenset(value) if isinstance(value, Iterable) and not isinstance(value, str) else value


_ALIVE: WeakSet[SearchService] = WeakSet()


def _after_fork() -> None:
    """Renew locks, and let FAISS and torch compute in one thread: a forked child has none of its parent's OpenMP threads, and
    waits for them for ever when it tries to use them."""
    services = list(_ALIVE)
    for service in services:
        service._lock = Lock()
        service.retriever.renew_lock()
    if services:
        for name, setter in (("faiss", "omp_set_num_threads"), ("torch", "set_num_threads")):
            if name in sys.modules:
                getattr(sys.modules[name], setter)(1)


os.register_at_fork(after_in_child=_after_fork)
