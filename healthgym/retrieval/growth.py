"""The index that passages are added to: checked, read again, its vectors taken over."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from healthgym.errors import PassageIndexError
from healthgym.retrieval.dedupe import Signer
from healthgym.retrieval.dense import build_faiss, extend, import_faiss
from healthgym.retrieval.encoders import Encoder
from healthgym.retrieval.lines import Lines, passage_of
from healthgym.retrieval.manifest import Manifest, check_files, read_manifest
from healthgym.retrieval.store import LINES, OFFSETS
from healthgym.retrieval.vector_file import Vectors


@dataclass(frozen=True, kw_only=True)
class Base:
    """An index to add to."""

    folder: Path
    manifest: Manifest

    @property
    def data(self) -> Path:
        """Folder of its files."""
        return self.folder / self.manifest.data

    def check(self, encoder: Encoder) -> None:
        """Raise PassageIndexError when the index is damaged, has changed or is of another encoder."""
        if read_manifest(self.folder) != self.manifest:
            raise PassageIndexError(f"{self.folder} was rebuilt a moment ago; run the same command again")
        check_files(self.folder, self.manifest, checksums=True)
        if encoder.fingerprint != self.manifest.fingerprint:
            raise PassageIndexError(
                f"{self.folder} was built with encoder {self.manifest.encoder!r} ({self.manifest.fingerprint}), got "
                f"{encoder.name!r} ({encoder.fingerprint}): add with the former, or build all corpora again with the latter"
            )

    def lines(self) -> Lines:
        """Return its passages."""
        return Lines(self.data / LINES, np.load(self.data / OFFSETS, mmap_mode="r"))

    def signatures(self, signer: Signer, batch_size: int) -> Iterator[np.ndarray]:
        """Yield the signatures of its passages, batch by batch."""
        passages = map(passage_of, self.lines().since(0))
        while batch := list(islice(passages, batch_size)):
            yield signer.sign(batch)

    def grown(self, name: str, vectors: Vectors, kind: str, progress: Callable[[int], None]) -> tuple[Any, str]:
        """Return its dense index with further vectors, and the kind that is now.

        Args:
            name: File of the dense index.
            vectors: float32 (m, d).
            kind: 'hnsw' turns an exact index into a graph, from the vectors it holds; a graph stays one.
            progress: Called with the passages done.
        """
        index = import_faiss().read_index(str(self.data / name))
        if self.manifest.index == "exact" and kind != "exact":
            return build_faiss([index.reconstruct_n(0, index.ntotal), vectors], kind, progress), kind
        extend(index, [vectors], progress)
        return index, self.manifest.index
