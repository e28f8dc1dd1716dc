"""What the list of benchmarks says of each, told without its data: modes, how to get the data, splits and options."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from healthgym.errors import ConfigError, nearest
from healthgym.evaluation.benchmark import Mode

Data = Literal["included", "hub", "--data"]
"""included: comes with healthgym. hub: loaded from a model hub when --data is left out. --data: has to be given."""

SYNONYMS: Mapping[str, str] = {"validation": "val"}
"""Other names of a split, by which it may be asked for as well."""


@dataclass(frozen=True, kw_only=True)
class About:
    """A benchmark in the list.

    title: what it asks, in a few words.
    group: heading that it stands under.
    modes: as the benchmark has them; the first is the default.
    data: where its data comes from.
    get: how to get it, in a sentence.
    splits: names that `--split` takes, the default first; empty where the data has none.
    splits_files: whether a split says something of one file as well: which of its rows to take, or what their ids are to be.
    options: what `--set NAME=VALUE` takes, each with its meaning and default.
    page: page of the documentation.
    """

    title: str
    group: str
    modes: tuple[Mode, ...]
    data: Data
    get: str
    page: str
    splits: tuple[str, ...] = ()
    splits_files: bool = False
    options: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON-like data."""
        return {**asdict(self), "modes": list(self.modes), "splits": list(self.splits)}

    def split(self, name: str, given: str | None) -> str | None:
        """Return a split as the benchmark names it; None stays None.

        Args:
            name: Of the benchmark.
            given: As the user wrote it.

        Raises:
            ConfigError: The benchmark has no such split; names those it has.
        """
        if given is None:
            return None
        found = SYNONYMS.get(given, given)
        if not self.splits:
            raise ConfigError(f"{name} has no splits; leave --split {given} out")
        if found not in self.splits:
            raise ConfigError(
                f"{name} has the splits {', '.join(self.splits)}, got {given!r}.{nearest(found, self.splits)}"
            )
        return found
