"""Draws by name, so that an entry added to the knowledge base later changes only the draws it wins."""

import math
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import TypeVar

from healthgym.errors import TaskError
from healthgym.tasks.families import Draw
from healthgym.tasks.task import Difficulty

_DIFFICULTIES: tuple[Difficulty, ...] = ("easy", "medium", "hard")
Named = TypeVar("Named", bound=str)


def difficulty_of(draw: Draw) -> Difficulty:
    """Return the difficulty of a case: each third of a family is one."""
    return _DIFFICULTIES[draw.index % 3]


def ranked(draw: Draw, weights: Mapping[Named, float] | Iterable[Named]) -> list[Named]:
    """Return the names in random order, heavier ones earlier: drawing without replacement, one lot a name.

    Source: exponential races, Efraimidis and Spirakis, Inf Process Lett 2006;97:181-185.
    """
    weighed = dict(weights) if isinstance(weights, Mapping) else dict.fromkeys(weights, 1.0)
    salt = int(draw.rng.integers(2**62))
    return sorted((name for name in weighed if weighed[name] > 0), key=lambda name: _lot(salt, name) / weighed[name])


def choose(draw: Draw, weights: Mapping[Named, float] | Iterable[Named]) -> Named:
    """Return one name by weight. Raises TaskError when there is none."""
    order = ranked(draw, weights)
    if not order:
        raise TaskError(f"{draw.family} {draw.split} {draw.index}: nothing to draw from")
    return order[0]


def _lot(salt: int, name: str) -> float:
    digest = blake2b(f"{salt}/{name}".encode(), digest_size=8).digest()
    return -math.log((int.from_bytes(digest, "big") + 1) / 2**64) + 1e-18
