"""What an episode has changed: a flat copy-on-write overlay with an incremental hash."""

import json
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

_MODULUS = 1 << 128


class State:
    """Values by dotted path ("P1.esi_level") over a frozen base.

    Values are JSON-like and treated as frozen: replace them, never mutate them. The hash is the sum modulo 2**128 of
    the entries' digests, so a write costs one digest whatever the size of the state, and equal contents hash alike
    whatever the order of writes.
    """

    __slots__ = ("_base_hash", "_sum", "_values")

    def __init__(self, base_hash: int = 0) -> None:
        self._values: dict[str, Any] = {}
        self._base_hash = base_hash
        self._sum = 0

    def get(self, path: str, default: Any = None) -> Any:
        """Return the value at `path`, or `default`."""
        return self._values.get(path, default)

    def set(self, path: str, value: Any) -> None:
        """Write `value` at `path`."""
        digest = _digest(path, value)
        if path in self._values:
            self._sum -= _digest(path, self._values[path])
        self._values[path] = value
        self._sum = (self._sum + digest) % _MODULUS

    def append(self, path: str, value: Any) -> None:
        """Add `value` to the tuple at `path`."""
        self.set(path, (*self._values.get(path, ()), value))

    def delete(self, path: str) -> None:
        """Forget the value at `path`; nothing happens when there is none."""
        if path in self._values:
            self._sum = (self._sum - _digest(path, self._values.pop(path))) % _MODULUS

    def items(self, prefix: str = "") -> Iterator[tuple[str, Any]]:
        """Yield (path, value) under `prefix`, in order of first write."""
        return ((path, value) for path, value in self._values.items() if path.startswith(prefix))

    def hash(self) -> str:
        """Return 32 hex digits that change whenever the content changes."""
        return f"{(self._base_hash + self._sum) % _MODULUS:032x}"

    def fork(self) -> "State":
        """Return an independent copy."""
        copy = State(self._base_hash)
        copy._values = dict(self._values)
        copy._sum = self._sum
        return copy


def _digest(path: str, value: Any) -> int:
    text = f"{path}={json.dumps(value, sort_keys=True, default=_jsonable)}"
    return int.from_bytes(blake2b(text.encode(), digest_size=16).digest(), "big")


def _jsonable(value: Any) -> Any:
    if isinstance(value, frozenset | set):
        return sorted(value)
    raise TypeError(f"state values must be JSON-like, got {type(value).__name__}")
