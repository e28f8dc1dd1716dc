"""Vectors that wait in a file between two stages of a build: read block by block, never as a whole."""

from pathlib import Path
from typing import Protocol

import numpy as np


class Vectors(Protocol):
    """Rows of vectors that can be cut out: an array, or a file."""

    def __len__(self) -> int:
        """Return how many there are."""
        ...

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Return the rows of a slice, float32 (m, d)."""
        ...


class VectorFile:
    """Vectors in a file of float32 numbers, row after row.

    It is read rather than memory-mapped: pages of a mapped file that were looked at count as memory of the process, and
    after a walk through all of them that is the size of the file.

    Args:
        path: The file; one that is not there holds no vectors.
        dimension: Numbers a vector.
    """

    def __init__(self, path: Path, dimension: int) -> None:
        self._path, self.dimension = path, dimension
        self._count = path.stat().st_size // (4 * dimension) if path.exists() else 0

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Return the rows of a slice, float32 (m, d); only they are read."""
        start, stop, step = rows.indices(self._count)
        wanted = range(start, stop, step)
        found = np.empty((len(wanted), self.dimension), dtype=np.float32)
        if not len(wanted):
            return found
        with self._path.open("rb", buffering=0) as stream:
            if step == 1:
                stream.seek(start * 4 * self.dimension)
                return np.fromfile(stream, np.float32, len(wanted) * self.dimension).reshape(found.shape)
            for place, row in enumerate(wanted):
                stream.seek(row * 4 * self.dimension)
                stream.readinto(found[place])
        return found
