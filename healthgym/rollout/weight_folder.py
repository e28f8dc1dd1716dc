"""Versions of a model's weights on disk, each whole or absent: how they reach an engine in another process."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from torch import Tensor

FILE_BYTES = 1 << 30
"""Tensors are written in files of about this size, so that only so much is in memory twice."""
KEPT = 2
"""Versions kept: the one being read, and the one before it."""


class WeightFolder:
    """Publishes versions of weights in one folder.

    Args:
        root: The folder; made when absent. Trainer and engine must both see it under this path.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._count = 0

    def publish(self, named: Iterable[tuple[str, Tensor]]) -> Path:
        """Write a version aside, rename it into place, drop old ones, and return its folder."""
        aside = self._aside()
        batch: dict[str, Tensor] = {}
        size, files = 0, 0
        for name, tensor in named:
            batch[name] = tensor.contiguous()
            size += tensor.numel() * tensor.element_size()
            if size >= FILE_BYTES:
                _write(aside, files, batch)
                batch, size, files = {}, 0, files + 1
        _write(aside, files, batch)
        return self._name(aside)

    def publish_with(self, write: Callable[[Path], None]) -> Path:
        """As `publish`, with files that `write` puts into the folder it is given."""
        aside = self._aside()
        write(aside)
        return self._name(aside)

    def remove(self) -> None:
        """Delete every version."""
        shutil.rmtree(self.root, ignore_errors=True)

    def _aside(self) -> Path:
        self._count += 1
        aside = self.root / f".version-{self._count:06d}"
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        return aside

    def _name(self, aside: Path) -> Path:
        named = aside.with_name(aside.name.removeprefix("."))
        shutil.rmtree(named, ignore_errors=True)
        aside.replace(named)
        for old in sorted(self.root.glob("version-*"))[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)
        return named


def read_weights(folder: Path) -> Iterator[tuple[str, Tensor]]:
    """Yield the named tensors of one version."""
    from safetensors import safe_open

    for file in sorted(folder.glob("*.safetensors")):
        with safe_open(str(file), framework="pt") as opened:
            for name in opened.keys():  # noqa: SIM118 (no mapping)
                yield name, opened.get_tensor(name)


def _write(folder: Path, number: int, batch: dict[str, Tensor]) -> None:
    from safetensors.torch import save_file

    if batch:
        save_file(batch, str(folder / f"weights-{number:05d}.safetensors"))
