"""Hugging Face datasets as corpora, streamed: hf:NAME[@REVISION][:CONFIG][:SPLIT], or hf:FOLDER for one on disk."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from healthgym.errors import ContentError, MissingDependency

PREFIX = "hf:"
SAVED = ("state.json", "dataset_dict.json")
"""Files by which a folder shows that Dataset.save_to_disk() wrote it."""


@dataclass(frozen=True, kw_only=True)
class HubName:
    """A dataset's name taken apart."""

    name: str
    """Name on the hub, or a folder of data files or of a saved dataset."""

    revision: str | None = None
    config: str | None = None
    split: str = "train"

    @classmethod
    def parse(cls, text: str) -> "HubName":
        """Read 'hf:NAME[@REVISION][:CONFIG][:SPLIT]'; an empty CONFIG is the default one.

        Raises:
            ContentError: no name, or more parts.
        """
        parts = text.removeprefix(PREFIX).split(":")
        if not parts[0] or len(parts) > 3:
            raise ContentError(f"expected {PREFIX}NAME[@REVISION][:CONFIG][:SPLIT], got {text!r}")
        name, _, revision = parts[0].partition("@")
        config = parts[1] if len(parts) > 1 else ""
        return cls(
            name=name, revision=revision or None, config=config or None, split=parts[2] if len(parts) > 2 else "train"
        )

    @property
    def source(self) -> str:
        """Source that passages get: the last part of the name, with the configuration."""
        last = self.name.rstrip("/").rsplit("/", 1)[-1]
        return f"{last}-{self.config}" if self.config else last


def dataset_rows(wanted: HubName, start: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the rows of a dataset from row `start` on, without loading it whole.

    Raises:
        ContentError: no such dataset, configuration or split, or a file of it cannot be read.
        MissingDependency: datasets is not installed.
    """
    try:
        from datasets.exceptions import DatasetsError
    except ImportError as error:
        raise MissingDependency.extra("A Hugging Face dataset", "kb") from error
    try:
        yield from _open(wanted).skip(start)
    except (DatasetsError, OSError, ValueError, RuntimeError) as error:
        raise ContentError(
            f"cannot read the dataset {PREFIX}{wanted.name} (split {wanted.split}): {_reason(error)}. Names read "
            f"{PREFIX}NAME[@REVISION][:CONFIG][:SPLIT]; a dataset of the hub needs a connection, one on disk its folder"
        ) from error


def _open(wanted: HubName) -> Any:
    """Return an iterable dataset."""
    from datasets import DatasetDict, load_dataset, load_from_disk

    folder = Path(wanted.name)
    if any((folder / name).is_file() for name in SAVED):
        saved = load_from_disk(str(folder))
        if isinstance(saved, DatasetDict):
            if wanted.split not in saved:
                raise ValueError(f"it has the splits {', '.join(saved)}")
            saved = saved[wanted.split]
        return saved
    return load_dataset(wanted.name, wanted.config, split=wanted.split, revision=wanted.revision, streaming=True)


def _reason(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
