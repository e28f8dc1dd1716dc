"""Parquet files and data sets of the hub: rows by column, made when asked for, so that images stay packed until then."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from healthgym.errors import ConfigError, MissingDependency

ON_THE_HUB = {"val": "validation"}
"""What the hub calls a split, where it is another name."""


class ArrowRows(Sequence[Mapping[str, Any]]):
    """Rows of an Arrow table."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return {name: self._table.column(name)[index].as_py() for name in self._table.column_names}

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return (self[i] for i in range(len(self)))


def parquet_rows(files: Sequence[Path], given: Path) -> ArrowRows:
    """Return the rows of parquet files one after another; `given` is what the user named.

    Raises:
        MissingDependency: `pyarrow` is missing.
        ConfigError: There is no file, or one cannot be read.
    """
    if not files:
        raise ConfigError(
            f"No .parquet file under {given}. Give --data the dataset's file, or a folder of parquet files"
        )
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingDependency.extra("Reading parquet files", "eval") from error
    try:
        return ArrowRows(pyarrow.concat_tables([parquet.read_table(file) for file in files]))
    except (pyarrow.ArrowException, OSError) as error:
        raise ConfigError(f"{given} cannot be read as parquet ({error}); fetch it again") from error


def hub_rows(name: str, split: str, *, how: str, config: str | None = None) -> Any:
    """Return one split of a data set of the hub, images packed.

    Args:
        name: Its name on the hub.
        split: Which split; val is called validation there.
        how: How to get the data otherwise, for the message.
        config: Which part of it, where it has several.

    Raises:
        MissingDependency: `datasets` is missing.
        ConfigError: The data set, part or split cannot be had.
    """
    try:
        import datasets
    except ImportError as error:
        raise MissingDependency.extra(f"Loading {name} from the hub", "eval") from error
    try:
        rows = datasets.load_dataset(name, config, split=ON_THE_HUB.get(split, split))
    except (OSError, ValueError) as error:  # no network, no such data set, no such split
        first = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise ConfigError(
            f"{name} (split {split}) could not be loaded from the hub ({first}). By hand, with --data PATH: {how}"
        ) from error
    for column, feature in getattr(rows, "features", {}).items():
        if isinstance(feature, datasets.Image):
            rows = rows.cast_column(column, datasets.Image(decode=False))
    return rows
