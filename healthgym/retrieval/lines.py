"""Passages in a file of JSON lines, by position; arrays and files that a build writes bit by bit."""

import json
import os
from array import array
from collections.abc import Container, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import numpy as np

from healthgym.errors import PassageIndexError
from healthgym.retrieval.passages import Passage


class Lines:
    """Lines of a file, read one at a time. Only their offsets, 8 bytes a line, are in memory.

    Args:
        path: File of passages, one a line.
        offsets: Where each line begins, and the end of the last; found by reading the file when None.
    """

    def __init__(self, path: Path, offsets: np.ndarray | None = None) -> None:
        self._path = path
        self._offsets = _scan(path) if offsets is None else offsets
        self._stream = path.open("rb")

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, position: int) -> Passage:
        self._stream.seek(int(self._offsets[position]))
        return Passage.from_row(json.loads(self._stream.readline()), f"{self._path}, passage {position}")

    def since(self, start: int, left_out: Container[int] = ()) -> Iterator[bytes]:
        """Yield the lines from position `start` on, without those at the positions `left_out`."""
        with self._path.open("rb") as stream:
            stream.seek(int(self._offsets[start]))
            for position in range(start, len(self)):
                line = stream.readline()
                if position not in left_out:
                    yield line


def passage_of(line: bytes) -> Passage:
    """Return the passage of a line that a build wrote."""
    return Passage.from_row(json.loads(line))


def _scan(path: Path) -> np.ndarray:
    ends = array("Q", [0])
    with path.open("rb") as stream:
        for line in stream:
            ends.append(ends[-1] + len(line))
    return np.frombuffer(ends, dtype=np.uint64)


@contextmanager
def appending(path: Path, size: int) -> Iterator[BinaryIO]:
    """Open a file to write on from `size`; what was written behind that before a kill is cut off.

    Raises:
        PassageIndexError: the file is shorter than that.
    """
    with path.open("r+b" if path.exists() else "w+b") as stream:
        if stream.seek(0, os.SEEK_END) < size:
            raise damaged(path.parent)
        stream.truncate(size)
        stream.seek(size)
        yield stream


def damaged(folder: Path) -> PassageIndexError:
    """Return the error for files of an unfinished build that do not hold what its journal counts."""
    return PassageIndexError(f"what an earlier build left in {folder} is damaged and was removed; build once more")


def save_array(path: Path, values: np.ndarray) -> None:
    """Save an array as numpy.save does, but so that a full disk is reported as one."""
    buffer = BytesIO()
    np.save(buffer, values)
    path.write_bytes(buffer.getbuffer())
