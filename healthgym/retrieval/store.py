"""Where the passages of an index lie: in memory, or in a file that is read one line at a time."""

import json
import mmap
from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

import numpy as np

from healthgym.errors import ContentError
from healthgym.retrieval.dates import date_range
from healthgym.retrieval.passages import Passage
from healthgym.retrieval.windows import hash64

LINES, OFFSETS, IDS, ORIGINS, DATES = "passages.jsonl", "offsets.npy", "ids.npy", "origins.npy", "dates.npy"


class PassageStore(ABC):
    """Passages by position and by id, and masks of those that a search may return.

    Args:
        ids: (n, 2) uint64, hash of an id and its position, sorted.
        origins: (n, 2) uint16, indices into `sources` and `licences`.
        dates: (n, 2) int32, first and last day as YYYYMMDD, 0 when unknown.
        sources: Passages by source.
        licences: Passages by licence.
    """

    def __init__(
        self,
        ids: np.ndarray,
        origins: np.ndarray,
        dates: np.ndarray,
        sources: dict[str, int],
        licences: dict[str, int],
    ) -> None:
        self.sources, self.licences = sources, licences
        self._ids, self._origins, self._dates = ids, origins, dates
        self.allowed = lru_cache(maxsize=32)(self._allowed)

    def __len__(self) -> int:
        return len(self._ids)

    @abstractmethod
    def __getitem__(self, position: int) -> Passage:
        """Return the passage at a position."""

    def position(self, passage_id: str) -> int | None:
        """Return the position of a passage, or None when no passage has that id."""
        wanted = hash64(passage_id)
        row = int(np.searchsorted(self._ids[:, 0], wanted))
        while row < len(self._ids) and self._ids[row, 0] == wanted:
            position = int(self._ids[row, 1])
            if self[position].id == passage_id:
                return position
            row += 1
        return None

    def _allowed(
        self,
        sources: frozenset[str] | None,
        licences: frozenset[str] | None,
        exclude: frozenset[str],
        days: tuple[int, int] | None = None,
    ) -> np.ndarray | None:
        """Return bool (n,), True where a passage may be returned; None when all may. Cached as `allowed`.

        A passage lies within `days` when any day its date may mean does; one without a date never does.
        """
        if sources is None and licences is None and not exclude and days is None:
            return None
        mask = np.ones(len(self), dtype=bool)
        for column, wanted, known in ((0, sources, self.sources), (1, licences, self.licences)):
            if wanted is not None:
                codes = [code for code, name in enumerate(known) if name in wanted]
                mask &= np.isin(self._origins[:, column], np.array(codes, dtype=np.uint16))
        if days is not None:
            mask &= (self._dates[:, 1] >= days[0]) & (self._dates[:, 0] <= days[1]) & (self._dates[:, 0] > 0)
        positions = [position for position in map(self.position, exclude) if position is not None]
        mask[positions] = False
        mask.flags.writeable = False
        return mask


class MemoryStore(PassageStore):
    """Passages held in memory."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.passages = tuple(passages)
        tables = StoreTables()
        for passage in self.passages:
            tables.add(passage)
        super().__init__(
            tables.id_table(self.__getitem__), tables.origin_table(), tables.date_table(), *tables.counts()
        )

    def __getitem__(self, position: int) -> Passage:
        return self.passages[position]


class FileStore(PassageStore):
    """Passages in a folder that a build filled: memory-mapped, so that workers share one copy."""

    def __init__(self, folder: Path, sources: dict[str, int], licences: dict[str, int]) -> None:
        self._offsets = np.load(folder / OFFSETS, mmap_mode="r")
        with (folder / LINES).open("rb") as stream:
            self._lines = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        ids, origins, dates = (np.load(folder / name, mmap_mode="r") for name in (IDS, ORIGINS, DATES))
        super().__init__(ids, origins, dates, sources, licences)

    def __getitem__(self, position: int) -> Passage:
        start, end = int(self._offsets[position]), int(self._offsets[position + 1])
        return Passage.from_row(json.loads(self._lines[start:end]), f"passage {position} of the index")


class StoreTables:
    """Ids, origins and dates collected while passages stream by: 20 bytes a passage."""

    def __init__(self) -> None:
        self._hashes = array("Q")
        self._codes = array("H")
        self._days = array("i")
        self._tables: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self._counts: tuple[Counter[int], Counter[int]] = (Counter(), Counter())

    def add(self, passage: Passage) -> None:
        """Take note of the next passage."""
        self._hashes.append(hash64(passage.id))
        for name, table, counts in zip((passage.source, passage.licence), self._tables, self._counts, strict=True):
            code = table.setdefault(name, len(table))
            counts[code] += 1
            self._codes.append(code)
        self._days.extend(date_range(passage.date))

    def counts(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return passages by source and by licence, in the order of their codes."""
        first, second = (
            {name: counts[code] for name, code in table.items()}
            for table, counts in zip(self._tables, self._counts, strict=True)
        )
        return first, second

    def origin_table(self) -> np.ndarray:
        """Return uint16 (n, 2): codes of source and licence."""
        return np.array(self._codes, dtype=np.uint16).reshape(-1, 2)

    def date_table(self) -> np.ndarray:
        """Return int32 (n, 2): first and last day of each passage."""
        return np.array(self._days, dtype=np.int32).reshape(-1, 2)

    def id_table(self, passage_at: Callable[[int], Passage]) -> np.ndarray:
        """Return uint64 (n, 2): hashes of the ids, sorted, with their positions.

        Raises:
            ContentError: two passages have the same id.
        """
        hashes = np.array(self._hashes, dtype=np.uint64)
        order = np.argsort(hashes, kind="stable")
        table = np.stack([hashes[order], order.astype(np.uint64)], axis=1)
        for row in np.flatnonzero(table[1:, 0] == table[:-1, 0]):
            first, second = passage_at(int(table[row, 1])), passage_at(int(table[row + 1, 1]))
            if first.id == second.id:
                raise ContentError(
                    f"two passages have the id {first.id!r} (sources {first.source!r} and {second.source!r}); "
                    "give each its own, or name a corpus only once"
                )
        return table
