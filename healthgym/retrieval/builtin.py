"""The evidence that comes with the installed content, searched without building anything first.

Packages offer passages under the entry-point group `healthgym.passages`: a function without arguments that returns
them. So the framework reaches clinical content by registration, as it does with domains.
"""

from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import entry_points

from healthgym.errors import PassageIndexError
from healthgym.retrieval.index import MemoryRetriever
from healthgym.retrieval.passages import Passage

GROUP = "healthgym.passages"


def builtin_passages() -> Iterator[Passage]:
    """Yield the passages of every registered provider, in the order of the providers' names."""
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        yield from point.load()()


@lru_cache(maxsize=1)
def builtin_retriever() -> MemoryRetriever:
    """Return the in-memory retriever over the built-in passages; made once, then shared.

    Raises:
        PassageIndexError: nothing is registered, or what is registered has no passages.
    """
    passages = tuple(builtin_passages())
    if not passages:
        raise PassageIndexError(
            f"No passages are registered under {GROUP!r}. Install healthgym again, or build an index with: "
            "healthgym kb build --corpus PATH --out DIR"
        )
    return MemoryRetriever(passages)
