"""Counts of a whole launch, from what each of its processes counts."""

from collections import Counter
from collections.abc import Mapping

from accelerate.utils import gather_object


class Totals:
    """The sum over all processes of counters that each of them adds to; equal on all once settled.

    Args:
        own: This process's counter. Only what is added to it from now on is summed.
    """

    def __init__(self, own: Counter[str]) -> None:
        self.own = own
        self._settled = Counter(own)
        self._all: Counter[str] = Counter()

    def __getitem__(self, name: str) -> int:
        """Return a count over all processes as of the last `settle`."""
        return self._all[name]

    def settle(self) -> None:
        """Take in what every process has counted since the last call; all must call this."""
        new = {name: count - self._settled[name] for name, count in self.own.items()}
        self._settled = Counter(self.own)
        self._all.update(summed(new))

    def state_dict(self) -> dict[str, int]:
        """Return the counts over all processes."""
        return dict(self._all)

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Continue from a `state_dict`, on as many processes as there are now."""
        self._settled, self._all = Counter(self.own), Counter(state)


def summed(counts: Mapping[str, int]) -> Counter[str]:
    """Return each count summed over the processes of the launch; all must call this."""
    everywhere: list[Mapping[str, int]] = gather_object([dict(counts)])
    total: Counter[str] = Counter()
    for one in everywhere:
        total.update(one)
    return total
